#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/fd.h"

namespace clmcp {

enum class LogLevel { kDebug, kInfo, kWarning, kError, kOff };

/// Lines of key=value on standard error or in a file. Only `app`, `session` and `transport` log
/// above debug; the other folders return what they have to say.
class Log {
 public:
  struct Field {
    Field(std::string_view field_key, std::string_view field_value)
        : key(field_key), value(field_value) {}

    Field(std::string_view field_key, std::integral auto number)
        : key(field_key), value(std::to_string(number)) {}

    std::string_view key;
    std::string value;
  };

  using Fields = std::initializer_list<Field>;

  /// Writes what is at least `level` to `fd`, which stays open as long as the Log lives.
  Log(LogLevel level, int fd) : level_(level), fd_(fd) {}

  /// The same, and owns the file.
  Log(LogLevel level, Fd file) : level_(level), fd_(file.get()), file_(std::move(file)) {}

  void debug(std::string_view event, Fields fields = {}) { write(LogLevel::kDebug, event, fields); }

  void info(std::string_view event, Fields fields = {}) { write(LogLevel::kInfo, event, fields); }

  void warning(std::string_view event, Fields fields = {}) {
    write(LogLevel::kWarning, event, fields);
  }

  void error(std::string_view event, Fields fields = {}) { write(LogLevel::kError, event, fields); }

 private:
  void write(LogLevel level, std::string_view event, Fields fields);

  LogLevel level_;
  int fd_;
  Fd file_;
};

/// One line as the Log writes it, without the time.
[[nodiscard]] std::string format_log_line(LogLevel level, std::string_view event,
                                          Log::Fields fields);

}  // namespace clmcp
