#include "tools/outcome_text.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/limits.h"
#include "base/utf8.h"
#include "mcp/tool.h"
#include "session/output.h"
#include "session/session.h"
#include "session/timeline.h"
#include "tools/excerpt.h"

namespace clmcp::tools {
namespace {

constexpr std::string_view kBetweenParts = "\n\n";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of("\r\n");
  const std::size_t end = text.find_last_not_of(" \t\r\n");
  if (begin == std::string_view::npos || end == std::string_view::npos) {
    return {};
  }
  // Where there is only white space, `end` was not found; so begin <= end here.
  return text.substr(begin, end - begin + 1);
}

/// A part of the reply that can be cut on its own.
struct Part {
  std::string title;
  std::string body;  // Of a stream, what is shown where there is room for all of it,
  const session::OutputLog* log = nullptr;  // where its shorter forms come from,
  std::uint64_t from = 0;
  StreamName name = {};   // and where the rest can be read.
  bool too_long = false;  // The body is not all of it.
};

std::string backtrace_text(const std::vector<std::string>& frames) {
  std::string text;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    text += fmt::format("{}{}: {}", i == 0 ? "" : "\n", i, frames[i]);
  }
  return text;
}

std::string values_text(const auto& values) {
  return values.empty() ? "; No values" : fmt::format("=> {}", fmt::join(values, "\n=> "));
}

/// What to do about a call that has no answer yet.
std::string pending_text(const session::Outcome& outcome) {
  const session::Pending& pending = *outcome.pending;
  const double seconds = std::chrono::duration<double>(pending.since).count();
  return fmt::format(
      "{} Job {} ({}) {} {:.1f} s{}. continue-evaluation with job {} waits for it, "
      "interrupt-evaluation with job {} stops it.",
      pending.running ? "[RUNNING]" : "[WAITING]", outcome.number, pending.what,
      pending.running ? "has been running for" : "has been waiting for", seconds,
      pending.behind.empty() ? ", and goes on" : ": it waits for " + pending.behind, outcome.number,
      outcome.number);
}

/// Makes one reply of an outcome.
class Reply {
 public:
  Reply(const session::Outcome& outcome, std::size_t budget)
      : outcome_(outcome),
        budget_(std::clamp(budget, limits::kLeastReplyCharacters, limits::kMostReplyCharacters)) {}

  [[nodiscard]] std::string text() {
    gather();
    std::vector<std::size_t> wanted;
    std::size_t room = budget_;
    for (const Part& part : parts_) {
      const std::string_view body = first_characters(part.body, budget_);
      wanted.push_back(part.too_long ? budget_ : count_characters(body));
      room -= std::min(room, part.title.size() + kBetweenParts.size());
    }
    const std::vector<std::size_t> share = shares(wanted, room);
    std::string text;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      text += text.empty() ? "" : kBetweenParts;
      text += parts_[i].title;
      text += share[i] < wanted[i] ? cut(parts_[i], share[i]) : parts_[i].body;
    }
    return text;
  }

 private:
  void gather() {
    const auto& answer = outcome_.answer;
    add_section("notice", outcome_.notice.value_or(""));
    if (outcome_.between) {
      const session::CallId number = outcome_.between->call;
      add_stream("stdout between calls", outcome_.between->output, 0, {number, "stdout"});
      add_stream("stderr between calls", outcome_.between->error_output, 0, {number, "stderr"});
    }
    if (outcome_.written) {
      const session::CallId number = outcome_.number;
      add_stream("stdout", outcome_.written->output, outcome_.output_from, {number, "stdout"});
      add_stream("stderr", outcome_.written->error_output, outcome_.error_output_from,
                 {number, "stderr"});
    }
    add_section("warnings", fmt::format("{}", fmt::join(answer.warnings, "\n")));
    if (answer.condition) {
      add("[ERROR] ", fmt::format("{}\n{}", answer.condition->type, answer.condition->message));
      if (!answer.condition->backtrace.empty()) {
        add("[Backtrace]\n", backtrace_text(answer.condition->backtrace));
      }
    } else if (answer.text) {
      add("", *answer.text);
    } else if (answer.values) {
      add("", values_text(*answer.values));
    }
    if (outcome_.remark) {
      add("", *outcome_.remark);
    }
    if (outcome_.pending) {
      add("", pending_text(outcome_));
    }
  }

  void add(std::string title, std::string body) {
    parts_.push_back({.title = std::move(title), .body = std::move(body)});
  }

  void add_section(std::string_view title, std::string_view body) {
    if (const std::string_view content = trimmed(body); !content.empty()) {
      add(fmt::format("[{}]\n", title), std::string(content));
    }
  }

  void add_stream(std::string_view title, const session::OutputLog& log, std::uint64_t from,
                  StreamName name) {
    const session::Excerpt excerpt = log.excerpt(from, budget_);
    const bool too_long = excerpt.bytes_left_out > 0;
    const std::string_view content = trimmed(excerpt.head);
    if (!content.empty() || too_long) {
      parts_.push_back({.title = fmt::format("[{}]\n", title),
                        .body = std::string(content),
                        .log = &log,
                        .from = from,
                        .name = name,
                        .too_long = too_long});
    }
  }

  /// A part that has to be shorter. What is in no stream goes to the stream "result" first.
  [[nodiscard]] std::string cut(const Part& part, std::size_t share) {
    if (!outcome_.written) {
      return shortened(part.body, share);
    }
    if (part.log != nullptr) {
      return std::string(trimmed(excerpt_of(*part.log, part.from, share, part.name)));
    }
    session::OutputLog& result = outcome_.written->result;
    result.append(part.title);
    const std::uint64_t from = result.size();
    result.append(part.body);
    std::string text =
        excerpt_of(result, from, share, {.call = outcome_.number, .stream = "result"});
    result.append("\n");
    return text;
  }

  const session::Outcome& outcome_;
  std::size_t budget_;
  std::vector<Part> parts_;
};

}  // namespace

mcp::ToolResult outcome_result(const session::Outcome& outcome, std::size_t budget) {
  return {.text = Reply(outcome, budget).text(), .is_error = outcome.answer.condition.has_value()};
}

}  // namespace clmcp::tools
