#include "app/export.h"

#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "session/journal_text.h"

namespace clmcp::app {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

session::History history_of(session::JournalEntry entry) {
  return {.owner = {.session = "default", .directory = "/a\n(evil)"},
          .live = {std::move(entry)},
          .time = "2026-11-15T06:30:00Z"};
}

TEST(Export, ThePackageIsSaidWheneverItChanges) {
  const std::string text = export_text(history_of({.definitions = {{"(defvar *a* 1)", "A"},
                                                                   {"(defvar *b* 2)", "A"},
                                                                   {"(IN-PACKAGE \"B\")", "A"},
                                                                   {"(defvar *c* 3)", "B \"\\"}}}));
  EXPECT_THAT(text, EndsWith("\n(cl:in-package \"A\")\n"
                             "\n(defvar *a* 1)\n"
                             "\n(defvar *b* 2)\n"
                             "\n(cl:in-package \"B \\\"\\\\\")\n"
                             "\n(defvar *c* 3)\n"));
}

TEST(Export, TheHeadIsAComment) {
  const std::string text = export_text(history_of({}));
  EXPECT_THAT(text, HasSubstr("'default' of /a (evil),"));
  EXPECT_THAT(text, HasSubstr("2026-11-15T06:30:00Z"));
  EXPECT_THAT(text, Not(HasSubstr("require")));
}

TEST(Export, SystemsAreLoadedFirstAndAsTheyWereFound) {
  session::History history = history_of({.definitions = {{"(defvar *a* 1)", "A"}}});
  history.systems = {{.name = "quicklisp", .definition = "/q/setup.lisp"},
                     {.name = "sb-posix", .definition = std::nullopt},
                     {.name = "mine", .definition = "/m/mine.asd"}};
  EXPECT_THAT(export_text(history),
              HasSubstr("\n(require \"ASDF\")\n"
                        "(unless (find-package \"QUICKLISP-CLIENT\") (load \"/q/setup.lisp\"))\n"
                        "(require \"SB-POSIX\")\n"
                        "(unless (asdf:find-system \"mine\" nil) (asdf:load-asd \"/m/mine.asd\"))\n"
                        "(asdf:load-system \"mine\")\n"
                        "\n(cl:in-package \"A\")\n"));
}

}  // namespace
}  // namespace clmcp::app
