#include "worker/answer.h"

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/result.h"
#include "worker/form.h"
#include "worker/frame.h"
#include "worker/worker.h"

namespace clmcp::worker {
namespace {

std::unexpected<Error> malformed(std::string_view what) {
  return std::unexpected(Error{.code = ErrorCode::kInvalid,
                               .message = fmt::format("the agent's {} is malformed", what)});
}

Result<std::vector<std::string>> strings(const Form& form, std::string_view what) {
  // An empty list may also come as nil, as in any Lisp.
  if (std::holds_alternative<Nil>(form.value)) {
    return std::vector<std::string>{};
  }
  if (form.list() == nullptr) {
    return malformed(what);
  }
  std::vector<std::string> result;
  for (const Form& element : *form.list()) {
    if (element.string() == nullptr) {
      return malformed(what);
    }
    result.push_back(*element.string());
  }
  return result;
}

Result<std::string> string(const Form::List& list, std::string_view key, std::size_t from) {
  const Form* form = find_property(list, key, from);
  if (form == nullptr || form->string() == nullptr) {
    return malformed(key);
  }
  return *form->string();
}

Result<std::int64_t> integer(const Form::List& message, std::string_view key) {
  const Form* form = find_property(message, key, 1);
  if (form == nullptr || form->integer() == nullptr) {
    return malformed(key);
  }
  return *form->integer();
}

Result<Condition> parse_condition(const Form& form) {
  if (form.list() == nullptr) {
    return malformed("condition");
  }
  Condition condition;
  condition.type = TRY(string(*form.list(), "type", 0));
  condition.message = TRY(string(*form.list(), "message", 0));
  if (const Form* frames = find_property(*form.list(), "backtrace", 0)) {
    condition.backtrace = TRY(strings(*frames, "backtrace"));
  }
  return condition;
}

Result<std::vector<SystemRef>> parse_systems(const Form& form) {
  std::vector<SystemRef> systems;
  if (std::holds_alternative<Nil>(form.value)) {
    return systems;
  }
  if (form.list() == nullptr) {
    return malformed("systems");
  }
  for (const Form& element : *form.list()) {
    const Form::List* pair = element.list();
    if (pair == nullptr || pair->size() != 2 || pair->front().string() == nullptr) {
      return malformed("systems");
    }
    SystemRef system{.name = *pair->front().string(), .definition = std::nullopt};
    if (const std::string* path = pair->back().string()) {
      system.definition = *path;
    }
    systems.push_back(std::move(system));
  }
  return systems;
}

Result<std::vector<Definition>> parse_definitions(const Form& form) {
  if (form.list() == nullptr) {
    return malformed("definitions");
  }
  std::vector<Definition> definitions;
  for (const Form& element : *form.list()) {
    const std::vector<std::string> pair = TRY(strings(element, "definitions"));
    if (pair.size() != 2) {
      return malformed("definitions");
    }
    definitions.push_back({.text = pair.front(), .package = pair.back()});
  }
  return definitions;
}

Result<Done> parse_done(const Form::List& list) {
  Done done{.id = TRY(integer(list, "id")), .answer = {}};
  if (const Form* values = find_property(list, "values", 1)) {
    done.answer.values = TRY(strings(*values, "values"));
  }
  if (find_property(list, "text", 1) != nullptr) {
    done.answer.text = TRY(string(list, "text", 1));
  }
  if (const Form* warnings = find_property(list, "warnings", 1)) {
    done.answer.warnings = TRY(strings(*warnings, "warnings"));
  }
  if (const Form* condition = find_property(list, "condition", 1)) {
    done.answer.condition = TRY(parse_condition(*condition));
  }
  if (find_property(list, "package", 1) != nullptr) {
    done.answer.package = TRY(string(list, "package", 1));
  }
  if (const Form* systems = find_property(list, "systems", 1)) {
    done.answer.systems = TRY(parse_systems(*systems));
  }
  if (const Form* definitions = find_property(list, "definitions", 1)) {
    done.answer.definitions = TRY(parse_definitions(*definitions));
  }
  return done;
}

Result<Interrupting> parse_interrupting(const Form::List& list) {
  const Form* frames = find_property(list, "backtrace", 1);
  if (frames == nullptr) {
    return malformed("backtrace");
  }
  return Interrupting{.id = TRY(integer(list, "id")),
                      .backtrace = TRY(strings(*frames, "backtrace"))};
}

}  // namespace

Result<AgentMessage> parse_agent_message(std::string_view payload) {
  const Form form = TRY(parse_form(payload));
  const Form::List* list = form.list();
  if (list == nullptr || list->empty() || list->front().keyword() == nullptr) {
    return malformed("message");
  }
  const std::string& kind = list->front().keyword()->name;
  if (kind == "done") {
    return TRY(parse_done(*list));
  }
  if (kind == "ready") {
    return Ready{.protocol = TRY(integer(*list, "protocol"))};
  }
  if (kind == "interrupting") {
    return TRY(parse_interrupting(*list));
  }
  if (kind == "frozen") {
    return FrozenCopy{.pid = TRY(integer(*list, "pid"))};
  }
  return malformed("message");
}

Result<std::optional<AgentMessage>> next_agent_message(FrameReader& frames) {
  const std::optional<std::string> payload = TRY(frames.next());
  if (!payload) {
    return std::nullopt;
  }
  return TRY(parse_agent_message(*payload));
}

std::string print_request(const Request& request, std::int64_t id) {
  Form::List message = {Form{Keyword{request.operation}}, Form{Keyword{"id"}}, Form{id}};
  message.insert(message.end(), request.arguments.begin(), request.arguments.end());
  return print_form(Form{std::move(message)});
}

}  // namespace clmcp::worker
