#include "base/log.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <string>
#include <string_view>

#include <unistd.h>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace clmcp {
namespace {

constexpr std::array<std::string_view, 5> kLevelNames = {"debug", "info", "warning", "error",
                                                         "off"};

bool plain(std::string_view value) {
  return !value.empty() && value.find_first_of(" =\"\\\n\r\t") == std::string_view::npos;
}

void append_value(std::string& line, std::string_view value) {
  if (plain(value)) {
    line += value;
    return;
  }
  line += '"';
  for (const char c : value) {
    if (c == '\n') {
      line += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') {
      line += '\\';
    }
    line += c;
  }
  line += '"';
}

}  // namespace

std::string format_log_line(LogLevel level, std::string_view event, Log::Fields fields) {
  std::string line =
      fmt::format("level={} event=", kLevelNames.at(static_cast<std::size_t>(level)));
  append_value(line, event);
  for (const Log::Field& field : fields) {
    line += ' ';
    line += field.key;
    line += '=';
    append_value(line, field.value);
  }
  line += '\n';
  return line;
}

void Log::write(LogLevel level, std::string_view event, Fields fields) {
  if (level < level_) {
    return;
  }
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  const std::string line = fmt::format("time={:%Y-%m-%dT%H:%M:%SZ} {}", fmt::gmtime(seconds),
                                       format_log_line(level, event, fields));
  // A log that cannot be written must not disturb the work, ignoring the failure.
  if (::write(fd_, line.data(), line.size()) < 0) {
    return;
  }
}

}  // namespace clmcp
