#include "tools/outcome_text.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "mcp/tool.h"
#include "session/session.h"

namespace clmcp::tools {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of("\r\n");
  const std::size_t end = text.find_last_not_of(" \t\r\n");
  if (begin == std::string_view::npos || end == std::string_view::npos) {
    return {};
  }
  // Where there is only white space, `end` was not found; so begin <= end here.
  return text.substr(begin, end - begin + 1);
}

void add_part(std::string& text, std::string_view part) {
  if (!text.empty()) {
    text += "\n\n";
  }
  text += part;
}

void add_section(std::string& text, std::string_view title, std::string_view body) {
  if (const std::string_view content = trimmed(body); !content.empty()) {
    add_part(text, fmt::format("[{}]\n{}", title, content));
  }
}

std::string error_text(const auto& condition) {
  std::string text = fmt::format("[ERROR] {}\n{}", condition.type, condition.message);
  if (!condition.backtrace.empty()) {
    text += "\n\n[Backtrace]";
    for (std::size_t i = 0; i < condition.backtrace.size(); ++i) {
      text += fmt::format("\n{}: {}", i, condition.backtrace[i]);
    }
  }
  return text;
}

std::string values_text(const auto& values) {
  return values.empty() ? "; No values" : fmt::format("=> {}", fmt::join(values, "\n=> "));
}

}  // namespace

mcp::ToolResult outcome_result(const session::Outcome& outcome) {
  const auto& answer = outcome.answer;
  std::string text;
  add_section(text, "notice", outcome.notice.value_or(""));
  add_section(text, "stdout", outcome.output);
  add_section(text, "stderr", outcome.error_output);
  add_section(text, "warnings", fmt::format("{}", fmt::join(answer.warnings, "\n")));
  if (answer.condition) {
    add_part(text, error_text(*answer.condition));
  } else if (answer.text) {
    add_part(text, *answer.text);
  } else if (answer.values) {
    add_part(text, values_text(*answer.values));
  }
  return {.text = std::move(text), .is_error = answer.condition.has_value()};
}

}  // namespace clmcp::tools
