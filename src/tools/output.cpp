// read-output: what calls wrote and their replies left out.

#include "session/output.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/result.h"
#include "mcp/tool.h"
#include "session/session.h"
#include "session/sessions.h"
#include "session/timeline.h"
#include "tools/call.h"
#include "tools/excerpt.h"
#include "tools/families.h"

namespace clmcp::tools {
namespace {

constexpr std::int64_t kDefaultLines = 200;

struct ReadOutputArgs {
  std::optional<std::int64_t> call;
  std::optional<std::string> stream;
  std::optional<std::int64_t> from;
  std::optional<std::int64_t> lines;
  std::optional<std::string> pattern;
  std::optional<std::int64_t> budget;
  std::optional<std::string> session;

  void fields(auto& f) {
    f.opt("call", call, "Number of the call, as its reply names it (default: the latest)");
    f.choice("stream", stream, {"stdout", "stderr", "result"},
             "What to read; result has values, warnings and backtraces that were too long for "
             "their reply (default: stdout)");
    f.opt("from", from, "First line, from 1; negative counts from the end (default: 1)");
    f.opt("lines", lines, "How many lines, or matching lines, at most (default: 200)");
    f.opt("pattern", pattern,
          "Show only lines with this text, upper or lower case alike, and their numbers");
    f.opt("budget", budget, kBudgetDoc, kBudgets);
    f.opt("session", session, kSessionDoc);
  }
};

/// What of a log is asked for, with every default filled in.
struct Wish {
  std::uint64_t from;
  std::size_t lines;
  std::size_t budget;
};

Wish wish_of(const ReadOutputArgs& args, const session::OutputLog& log, std::size_t usual_budget) {
  const auto count = static_cast<std::int64_t>(log.line_count());
  const std::int64_t from = args.from.value_or(1);
  return {
      .from =
          static_cast<std::uint64_t>(std::max<std::int64_t>(from < 0 ? count + 1 + from : from, 1)),
      .lines =
          static_cast<std::size_t>(std::max<std::int64_t>(args.lines.value_or(kDefaultLines), 1)),
      .budget = args.budget ? static_cast<std::size_t>(*args.budget) : usual_budget};
}

const session::OutputLog& stream_of(const session::CallOutput& written, std::string_view stream) {
  if (stream == "stderr") {
    return written.error_output;
  }
  return stream == "result" ? written.result : written.output;
}

std::string lost(const session::DroppedLines& dropped) {
  return fmt::format("[lines {} to {} are not kept{}{}]", grouped(dropped.first),
                     grouped(dropped.last), dropped.why.empty() ? "" : ": ", dropped.why);
}

/// Lines as they are, under `title`.
std::string passage_text(const std::string& title, const session::OutputLog& log,
                         const Wish& wish) {
  const session::Passage passage = log.read(wish.from, wish.lines, wish.budget);
  const std::string total = grouped(log.line_count());
  const auto dropped = log.dropped();
  if (passage.next == passage.first) {
    return fmt::format("[{}: there is no line {}; it has {}]", title, grouped(wish.from), total);
  }
  std::string text = fmt::format("[{}: lines {}-{} of {}]\n", title, grouped(passage.first),
                                 grouped(passage.next - 1), total);
  if (passage.first > wish.from && dropped) {
    text += lost(*dropped) + "\n";
  }
  text += passage.text;
  if (text.ends_with('\n')) {
    text.pop_back();
  }
  if (passage.stop == session::Passage::Stop::kDropped) {
    text += "\n" + lost(*dropped);
  }
  if (passage.stop != session::Passage::Stop::kEnd) {
    const bool gap = passage.stop == session::Passage::Stop::kDropped;
    text += fmt::format("\n... go on with from: {}", gap ? dropped->last + 1 : passage.next);
  }
  return text;
}

/// The lines that hold a text, with their numbers.
std::string matches_text(const std::string& title, const session::OutputLog& log, const Wish& wish,
                         const std::string& pattern) {
  const session::Matches matches = log.search(pattern, wish.from, wish.lines, wish.budget);
  const std::size_t count = matches.lines.size();
  const auto dropped = log.dropped();
  std::string text = fmt::format("[{}: {}{} {} '{}']", title, matches.next ? "the first " : "",
                                 count == 1 ? "1 line" : fmt::format("{} lines", grouped(count)),
                                 count == 1 ? "matches" : "match", pattern);
  for (const session::Matches::Line& line : matches.lines) {
    text += fmt::format("\n{}: {}", line.number, line.text);
  }
  if (dropped && dropped->last >= wish.from) {
    text += "\n" + lost(*dropped);
  }
  if (matches.next) {
    text += fmt::format("\n... go on with from: {}", *matches.next);
  }
  return text;
}

mcp::ToolResult no_such_call(const session::Session& session, std::optional<std::int64_t> call) {
  const auto kept = session.calls_with_output();
  if (kept.empty()) {
    return {.text = "No call of this session has written anything yet.", .is_error = true};
  }
  return {.text = fmt::format("The output of call {} is not kept. Kept is that of: {}.",
                              call.value_or(0), fmt::join(kept, ", ")),
          .is_error = true};
}

mcp::ToolResult read_output(const session::Session& session, const ReadOutputArgs& args,
                            std::size_t usual_budget) {
  const std::optional<session::CallId> call =
      args.call ? std::optional(static_cast<session::CallId>(*args.call)) : std::nullopt;
  const std::shared_ptr<const session::CallOutput> written = session.output_of(call);
  if (!written) {
    return no_such_call(session, args.call);
  }
  const std::string stream = args.stream.value_or("stdout");
  const session::OutputLog& log = stream_of(*written, stream);
  const std::string title = fmt::format("{} of call {}", stream, written->call);
  if (log.size() == 0) {
    return {.text = fmt::format("[{}: nothing was written]", title)};
  }
  const Wish wish = wish_of(args, log, usual_budget);
  return {.text = args.pattern ? matches_text(title, log, wish, *args.pattern)
                               : passage_text(title, log, wish)};
}

}  // namespace

void add_output_tools(mcp::ToolSet& tools, const Workshop& workshop) {
  tools.add<ReadOutputArgs>(
      {.name = "read-output",
       .title = "Read output",
       .description = "Read what a call wrote and its reply left out: by lines, or those that hold "
                      "a text. Answers at once, also while the call runs.",
       .hints = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false}},
      [workshop](const ReadOutputArgs& args, mcp::ToolCall call) {
        const Result<std::shared_ptr<session::Session>> session =
            workshop.sessions.find(args.session);
        std::move(call).answer(
            session ? read_output(**session, args, workshop.budget)
                    : mcp::ToolResult{.text = session.error().message, .is_error = true});
      });
}

}  // namespace clmcp::tools
