#include "session/journal.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/limits.h"
#include "base/result.h"
#include "session/journal_files.h"
#include "session/journal_text.h"
#include "worker/worker.h"

namespace clmcp::session {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Whatever a journal must not take for a record of its own.
const std::vector<std::string> kHostileTexts = {
    "",
    "\n",
    ";;; 1 after 0 · t · evaluate-lisp · check 0000000000000000\n",
    std::string("\0\n·\xff\xfe", 6),
    "(defun λ () \"→ · 𝄞\")\r\n\r\n",
    std::string(100'000, 'x')};

JournalEntry definition(std::uint64_t number, const std::string& text) {
  return {.number = number,
          .kind = "evaluate-lisp",
          .code = text,
          .outcome = "=> X",
          .definitions = {{.text = text, .package = "COMMON-LISP-USER"}}};
}

std::vector<std::string> live_code(const History& history) {
  std::vector<std::string> texts;
  for (const JournalEntry& entry : history.live) {
    for (const worker::Definition& one : entry.definitions) {
      texts.push_back(one.text);
    }
  }
  return texts;
}

class JournalTest : public ::testing::Test {
 protected:
  JournalTest() {
    root_ = fs::temp_directory_path() / ("cl-mcp-journal-test-" + std::to_string(::getpid()));
    fs::remove_all(root_);
  }

  ~JournalTest() override { fs::remove_all(root_); }

  [[nodiscard]] JournalPlace place(const std::string& directory = "/home/ada/project") const {
    return {.root = root_ / "journals", .directory = directory};
  }

  [[nodiscard]] fs::path file(const std::string& name) const {
    return place().folder() / (name + ".journal");
  }

  /// A journal that was begun with one definition.
  [[nodiscard]] Journal begun(const std::string& text = "(defvar *a*)") const {
    Journal journal(place(), "default");
    journal.record(definition(1, text));
    return journal;
  }

  static std::string contents(const fs::path& path) { return *read_whole_file(path); }

  static void overwrite(const fs::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  }

  fs::path root_;
};

TEST_F(JournalTest, WhatIsWrittenIsReadBack) {
  Journal journal(place(), "default");
  std::uint64_t number = 0;
  for (const std::string& text : kHostileTexts) {
    journal.record({.number = ++number,
                    .kind = "evaluate-lisp",
                    .code = text,
                    .package = text,
                    .outcome = text.substr(0, 100),
                    .definitions = {{.text = text, .package = text}, {.text = "b", .package = "c"}},
                    .systems = {{{.name = text, .definition = text},
                                 {.name = "sb-posix", .definition = std::nullopt}}}});
  }
  EXPECT_FALSE(journal.take_trouble().has_value());
  const Result<History> history = read_journal(journal.path());
  ASSERT_TRUE(history.has_value()) << history.error().message;
  EXPECT_EQ(history->remark, std::nullopt);
  EXPECT_EQ(history->owner.session, "default");
  EXPECT_EQ(history->owner.directory, "/home/ada/project");
  ASSERT_EQ(history->live.size(), kHostileTexts.size());
  for (std::size_t at = 0; at < kHostileTexts.size(); ++at) {
    const JournalEntry& entry = history->live[at];
    EXPECT_EQ(entry.code, kHostileTexts[at]);
    EXPECT_EQ(entry.package, kHostileTexts[at]);
    EXPECT_EQ(entry.outcome, kHostileTexts[at].substr(0, 100));
    EXPECT_EQ(entry.definitions.at(0).text, kHostileTexts[at]);
    EXPECT_EQ(entry.definitions.at(1).package, "c");
    EXPECT_EQ(entry.systems->at(0).definition, kHostileTexts[at]);
    EXPECT_EQ(entry.systems->at(1).definition, std::nullopt);
  }
  EXPECT_EQ(history->systems.at(1).name, "sb-posix");
}

TEST_F(JournalTest, IsForItsOwnerAlone) {
  const Journal journal = begun();
  EXPECT_EQ(fs::status(journal.path()).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(fs::status(journal.path().parent_path()).permissions(), fs::perms::owner_all);
}

TEST_F(JournalTest, OnlyTheBeginningOfAnOutcomeIsKept) {
  Journal journal(place(), "default");
  std::string outcome;
  while (outcome.size() < 3 * limits::kJournalOutcomeBytes) {
    outcome += "→";  // Three bytes, so that the bound falls within one.
  }
  journal.record({.number = 1, .kind = "evaluate-lisp", .outcome = outcome});
  const std::string kept = read_journal(journal.path())->live.at(0).outcome;
  EXPECT_EQ(kept.size(), limits::kJournalOutcomeBytes / 3 * 3);
}

TEST_F(JournalTest, OneThatIsOffWritesNothing) {
  Journal journal;
  journal.record(definition(1, "(defvar *a*)"));
  journal.went_back_to(0);
  EXPECT_FALSE(journal.take_trouble().has_value());
  EXPECT_TRUE(journal.path().empty());
}

TEST_F(JournalTest, WhatWasUndoneIsNotLive) {
  Journal journal(place(), "default");
  journal.record(definition(1, "a"));
  journal.record(definition(2, "b"));
  journal.record(definition(3, "c"));
  journal.went_back_to(1);
  EXPECT_THAT(live_code(*read_journal(journal.path())), ElementsAre("a"));
  journal.record(definition(4, "d"));
  EXPECT_THAT(live_code(*read_journal(journal.path())), ElementsAre("a", "d"));
  journal.went_back_to(3);  // What was undone can be gone back to.
  journal.record(definition(5, "e"));
  const History history = *read_journal(journal.path());
  EXPECT_THAT(live_code(history), ElementsAre("a", "b", "c", "e"));
  EXPECT_EQ(history.tip, 5U);
  EXPECT_EQ(history.last_number, 5U);
}

TEST_F(JournalTest, AResetStartsAfreshAndKeepsTheSystemsThatItRecords) {
  Journal journal = begun();
  journal.went_back_to(0);
  EXPECT_THAT(read_journal(journal.path())->live, IsEmpty());
  journal.record({.number = 2,
                  .kind = "reset-session",
                  .systems = {{{.name = "alexandria", .definition = std::nullopt}}}});
  journal.record(definition(3, "b"));
  const History history = *read_journal(journal.path());
  EXPECT_THAT(live_code(history), ElementsAre("b"));
  EXPECT_EQ(history.systems.at(0).name, "alexandria");
}

TEST_F(JournalTest, AResumedOneIsContinuedInTheSameFile) {
  {
    Journal journal = begun("a");
    journal.record(definition(2, "b"));
    journal.went_back_to(1);
  }
  Result<ResumedJournal> resumed = Journal::resume(*find_journal(place(), "default"));
  ASSERT_TRUE(resumed.has_value()) << resumed.error().message;
  EXPECT_THAT(live_code(resumed->history), ElementsAre("a"));
  EXPECT_EQ(resumed->history.tip, 1U);
  EXPECT_EQ(resumed->history.last_number, 2U);
  resumed->journal.record(definition(3, "c"));
  EXPECT_THAT(live_code(*read_journal(file("default"))), ElementsAre("a", "c"));
}

TEST_F(JournalTest, EveryTruncationIsReadAsFarAsItIsWhole) {
  Journal journal = begun("(first)");
  const std::size_t first = fs::file_size(journal.path());
  journal.record(definition(2, "(second)"));
  const std::string whole = contents(journal.path());
  for (std::size_t end = 0; end < whole.size(); ++end) {
    const JournalText text = parse_journal(std::string_view(whole).substr(0, end));
    EXPECT_LE(text.good_bytes, end);
    EXPECT_EQ(text.records.size(), end >= first ? 1U : 0U) << end;
    EXPECT_EQ(text.damage == JournalDamage::kNone, text.good_bytes == end) << end;
    EXPECT_NE(text.damage, JournalDamage::kSpoiled) << end;
  }
}

TEST_F(JournalTest, AnyByteThatIsNotWhatWasWrittenIsNoticed) {
  Journal journal = begun("(first)");
  journal.record(definition(2, "(second)"));
  journal.went_back_to(1);
  const std::string whole = contents(journal.path());
  std::mt19937 random(1);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string spoiled = whole;
    spoiled[at] = static_cast<char>(spoiled[at] ^ static_cast<char>(1 + random() % 255));
    const JournalText text = parse_journal(spoiled);
    EXPECT_NE(text.damage, JournalDamage::kNone) << at;
    EXPECT_LE(text.good_bytes, at);
    (void)make_history(text);
  }
}

TEST_F(JournalTest, RubbishIsNoCrash) {
  std::mt19937 random(2);
  const std::string alphabet = ";;; 0123456789 ·\nafter backto codesystemindefinition check";
  for (int round = 0; round < 2000; ++round) {
    std::string text = print_owner({.session = "s", .directory = "d"});
    for (int left = 100; left > 0; --left) {
      text += alphabet[random() % alphabet.size()];
    }
    EXPECT_TRUE(parse_journal(text).records.empty());
  }
}

TEST_F(JournalTest, ATornEndIsCutOffWhenItIsResumed) {
  std::string whole;
  {
    Journal journal = begun("a");
    journal.record(definition(2, "b"));
    whole = contents(journal.path());
  }
  overwrite(file("default"), whole.substr(0, whole.size() - 1));
  Result<ResumedJournal> resumed = Journal::resume(file("default"));
  EXPECT_THAT(*resumed->history.remark, HasSubstr("last record is not whole"));
  resumed->journal.record(definition(3, "c"));
  const History history = *read_journal(file("default"));
  EXPECT_THAT(live_code(history), ElementsAre("a", "c"));
  EXPECT_EQ(history.remark, std::nullopt);
}

TEST_F(JournalTest, ADamagedOneIsKeptBesideWhatIsResumed) {
  {
    const Journal journal = begun("(defvar *whole*)");
  }
  std::string text = contents(file("default"));
  text.replace(text.rfind("whole"), 5, "wrong");
  overwrite(file("default"), text);
  const Result<ResumedJournal> resumed = Journal::resume(file("default"));
  EXPECT_THAT(*resumed->history.remark, HasSubstr("damaged"));
  EXPECT_THAT(resumed->history.live, IsEmpty());
  EXPECT_EQ(contents(file("default").native() + ".damaged"), text);
}

TEST_F(JournalTest, WhatIsNoJournalIsRefused) {
  {
    const Journal journal = begun();
  }
  overwrite(file("default"), "a letter\nto somebody\n");
  EXPECT_THAT(read_journal(file("default")).error().message, HasSubstr("not a journal"));
  EXPECT_THAT(Journal::resume(file("default")).error().message, HasSubstr("not a journal"));
  EXPECT_EQ(contents(file("default")), "a letter\nto somebody\n");
}

TEST_F(JournalTest, OlderLivesAreMovedAsideWithTheFirstRecord) {
  for (int life = 1; life <= limits::kOldJournals + 2; ++life) {
    Journal journal(place(), "default");
    if (life > 1) {
      EXPECT_THAT(live_code(*read_journal(file("default"))), ElementsAre(std::to_string(life - 1)));
    }
    journal.record(definition(1, std::to_string(life)));
  }
  EXPECT_THAT(live_code(*read_journal(file("default"))), ElementsAre("7"));
  EXPECT_THAT(live_code(*read_journal(*find_journal(place(), "default.1"))), ElementsAre("6"));
  EXPECT_THAT(live_code(*read_journal(file("default.5"))), ElementsAre("2"));
  EXPECT_FALSE(fs::exists(file("default.6")));
}

TEST_F(JournalTest, OneThatAnotherServerHoldsIsLeftAlone) {
  const Journal first = begun("a");
  const Journal second = begun("b");
  EXPECT_EQ(second.path(), file("default-2"));
  EXPECT_THAT(live_code(*read_journal(first.path())), ElementsAre("a"));
  EXPECT_THAT(Journal::resume(first.path()).error().message, HasSubstr("in use by another server"));
}

TEST_F(JournalTest, ASessionsNameLeadsNowhereElse) {
  for (const std::string name : {"../../etc/passwd", "..", "a/b", "a.1", "λ", "a b"}) {
    Journal journal(place(), name);
    journal.record(definition(1, "a"));
    EXPECT_EQ(journal.path().parent_path(), place().folder()) << name;
    EXPECT_EQ(*find_journal(place(), name), journal.path()) << name;
  }
}

TEST_F(JournalTest, AJournalOfAnotherDirectoryIsFoundWhereItIsTheOnlyOne) {
  EXPECT_THAT(find_journal(place(), "default").error().message,
              HasSubstr("There is no journal in"));
  const Journal journal = begun();
  EXPECT_EQ(*find_journal(place("/elsewhere"), "default"), journal.path());
  EXPECT_THAT(find_journal(place("/elsewhere"), "other").error().message,
              HasSubstr("there is 'default' of /home/ada/project"));
  Journal third(place("/third"), "default");
  third.record(definition(1, "a"));
  EXPECT_THAT(find_journal(place("/elsewhere"), "default").error().message,
              HasSubstr("more than one"));
  EXPECT_EQ(*find_journal(place(), "default"), journal.path());
}

TEST_F(JournalTest, DirectoriesOfOneNameHaveFoldersOfTheirOwn) {
  EXPECT_NE(place("/a/project").folder(), place("/b/project").folder());
  EXPECT_TRUE(place("/a/project").folder().filename().native().starts_with("project-"));
  EXPECT_TRUE(place("/").folder().filename().native().starts_with("root-"));
}

TEST_F(JournalTest, BeyondItsBoundItIsCompacted) {
  const std::size_t bound = 20'000;
  Journal journal(place(), "default", bound);
  journal.record(definition(1, "(first)"));
  journal.record(definition(2, "(undone)"));
  journal.went_back_to(1);
  std::uint64_t number = 2;
  while (number < 300) {
    journal.record({.number = ++number, .kind = "evaluate-lisp", .code = std::string(500, 'x')});
    EXPECT_LE(fs::file_size(journal.path()), bound);
  }
  journal.went_back_to(2);
  journal.record(definition(++number, "(last)"));
  EXPECT_EQ(journal.take_trouble(), std::nullopt);
  EXPECT_EQ(Journal::resume(journal.path()).error().code, ErrorCode::kUnavailable);  // Still held.
  EXPECT_EQ(read_journal(journal.path())->last_number, number);
}

TEST_F(JournalTest, WhatIsLiveOutlivesManyCompactions) {
  Journal journal(place(), "default", 20'000);
  std::vector<std::string> kept;
  for (std::uint64_t number = 1; number <= 2000; ++number) {
    if (number % 100 == 0) {
      kept.push_back("(defvar *" + std::to_string(number) + "*)");
      journal.record(definition(number, kept.back()));
    } else {
      journal.record({.number = number, .kind = "evaluate-lisp", .code = "(+ 1 2)"});
    }
  }
  EXPECT_EQ(journal.take_trouble(), std::nullopt);
  const History history = *read_journal(journal.path());
  EXPECT_EQ(live_code(history), kept);
  EXPECT_EQ(history.tip, 2000U);
}

TEST_F(JournalTest, DefinitionsThatDoNotFitEndItWithAWord) {
  Journal journal(place(), "default", 20'000);
  journal.record(definition(1, std::string(15'000, 'x')));
  const std::optional<std::string> trouble = journal.take_trouble();
  ASSERT_TRUE(trouble.has_value());
  EXPECT_THAT(*trouble, HasSubstr("--journal-size"));
  EXPECT_EQ(journal.take_trouble(), std::nullopt);
  journal.record(definition(2, "b"));
  EXPECT_EQ(journal.take_trouble(), std::nullopt);
}

TEST_F(JournalTest, APlaceThatCannotBeWrittenIsToldOnce) {
  fs::create_directories(root_);
  overwrite(root_ / "journals", "a file where a folder should be");
  Journal journal = begun();
  EXPECT_THAT(*journal.take_trouble(), HasSubstr((root_ / "journals").native()));
  journal.record(definition(2, "b"));
  EXPECT_EQ(journal.take_trouble(), std::nullopt);
}

/// Runs `body` while no file may grow beyond `bytes`.
void with_little_room(std::size_t bytes, const std::function<void()>& body) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit little{.rlim_cur = bytes, .rlim_max = before.rlim_max};
  auto* handler = ::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &little), 0);
  body();
  EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  (void)::signal(SIGXFSZ, handler);
}

TEST_F(JournalTest, AFullDiskEndsItAndLeavesWhatWasWritten) {
  Journal journal = begun("a");
  const std::size_t size = fs::file_size(journal.path());
  with_little_room(size + 10, [&] { journal.record(definition(2, "b")); });
  EXPECT_THAT(*journal.take_trouble(), HasSubstr("not written any more"));
  EXPECT_EQ(fs::file_size(file("default")), size);
  EXPECT_THAT(live_code(*read_journal(file("default"))), ElementsAre("a"));
}

TEST_F(JournalTest, AFullDiskWhileCompactingLeavesTheOldOne) {
  Journal journal(place(), "default", 20'000);
  for (std::uint64_t number = 1; number <= 15; ++number) {
    journal.record(definition(number, std::string(500, 'x')));
  }
  const JournalText text = parse_journal(contents(journal.path()));
  const HeldJournal held{.file = {}, .path = journal.path()};
  with_little_room(
      1000, [&] { EXPECT_FALSE(replace_journal(held, print_compact(text, false)).has_value()); });
  EXPECT_EQ(read_journal(journal.path())->live.size(), 15U);
  EXPECT_FALSE(fs::exists(journal.path().native() + ".new"));
}

}  // namespace
}  // namespace clmcp::session
