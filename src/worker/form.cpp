#include "worker/form.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/result.h"

namespace clmcp::worker {
namespace {

void print_into(std::string& out, const Form& form);

struct Printer {
  std::string& out;

  void operator()(const Nil& /*nil*/) const { out += "nil"; }

  void operator()(const True& /*true*/) const { out += "t"; }

  void operator()(std::int64_t number) const { out += std::to_string(number); }

  void operator()(const Keyword& keyword) const {
    out += ':';
    out += keyword.name;
  }

  void operator()(const std::string& string) const {
    out += '"';
    for (const char c : string) {
      if (c == '"' || c == '\\') {
        out += '\\';
      }
      out += c;
    }
    out += '"';
  }

  void operator()(const Form::List& list) const {
    out += '(';
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i > 0) {
        out += ' ';
      }
      print_into(out, list[i]);
    }
    out += ')';
  }
};

void print_into(std::string& out, const Form& form) {
  std::visit(Printer{out}, form.value);
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Form> whole() {
    Form form = TRY(parse(0));
    if (at_ != text_.size()) {
      return fail("text after the form");
    }
    return form;
  }

 private:
  [[nodiscard]] std::unexpected<Error> fail(std::string_view what) const {
    return std::unexpected(
        Error{.code = ErrorCode::kSyntax, .message = fmt::format("{} at byte {}", what, at_)});
  }

  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  Result<Form> parse(std::size_t depth) {
    if (depth > limits::kFormDepth) {
      return fail("nesting too deep");
    }
    switch (peek()) {
      case '(':
        return parse_list(depth);
      case '"':
        return parse_string();
      default:
        return parse_token();
    }
  }

  Result<Form> parse_list(std::size_t depth) {
    ++at_;
    Form::List list;
    while (peek() != ')') {
      if (!list.empty()) {
        if (peek() != ' ') {
          return fail("a space or ')' was expected");
        }
        ++at_;
      }
      list.push_back(TRY(parse(depth + 1)));
    }
    ++at_;
    return Form{std::move(list)};
  }

  Result<Form> parse_string() {
    ++at_;
    std::string string;
    for (;;) {
      // Runs between escapes are copied whole: values may be megabytes.
      const std::size_t end = text_.find_first_of("\"\\", at_);
      if (end == std::string_view::npos) {
        return fail("a string without its end");
      }
      string += text_.substr(at_, end - at_);
      at_ = end + 1;
      if (text_[end] == '"') {
        return Form{std::move(string)};
      }
      if (at_ == text_.size()) {
        return fail("a string without its end");
      }
      string += text_[at_++];
    }
  }

  Result<Form> parse_token() {
    const std::size_t end = std::min(text_.find_first_of(" ()\"", at_), text_.size());
    const std::string_view token = text_.substr(at_, end - at_);
    if (token == "nil") {
      at_ = end;
      return Form{Nil{}};
    }
    if (token == "t") {
      at_ = end;
      return Form{True{}};
    }
    if (token.starts_with(':') && token.size() > 1) {
      at_ = end;
      return Form{Keyword{std::string(token.substr(1))}};
    }
    std::int64_t number = 0;
    const auto [last, error] = std::from_chars(token.data(), token.data() + token.size(), number);
    if (token.empty() || error != std::errc() || last != token.data() + token.size()) {
      return fail("an unknown token");
    }
    at_ = end;
    return Form{number};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

const Form* find_property(const Form::List& list, std::string_view key, std::size_t from) {
  for (std::size_t i = from; i + 1 < list.size(); i += 2) {
    const Keyword* keyword = list[i].keyword();
    if (keyword != nullptr && keyword->name == key) {
      return &list[i + 1];
    }
  }
  return nullptr;
}

std::string print_form(const Form& form) {
  std::string out;
  print_into(out, form);
  return out;
}

Result<Form> parse_form(std::string_view text) {
  return Parser(text).whole();
}

}  // namespace clmcp::worker
