#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "json/fields.h"
#include "mcp/tool.h"
#include "session/operation.h"
#include "session/session.h"
#include "session/sessions.h"
#include "tools/outcome_text.h"

namespace clmcp::tools {

constexpr std::string_view kSessionDoc = "Session to use (default: 'default')";

/// The reading of a tool's arguments that makes the message to the agent: every field goes there
/// under its own name, but `session`, which says whose agent it is.
class OperationWriter {
 public:
  explicit OperationWriter(session::Operation& operation) : operation_(operation) {}

  void need(std::string_view name, const auto& field, std::string_view /*doc*/) {
    operation_.add(name, field);
  }

  void opt(std::string_view name, const auto& field, std::string_view /*doc*/) {
    if (name != "session") {
      operation_.add(name, field);
    }
  }

  void need(std::string_view name, const auto& field, std::string_view doc, json::Range /*range*/) {
    need(name, field, doc);
  }

  void opt(std::string_view name, const auto& field, std::string_view doc, json::Range /*range*/) {
    opt(name, field, doc);
  }

  void need_choice(std::string_view name, const std::string& field, json::Choices /*choices*/,
                   std::string_view doc) {
    need(name, field, doc);
  }

  void choice(std::string_view name, const std::optional<std::string>& field,
              json::Choices /*choices*/, std::string_view /*doc*/) {
    operation_.add(name, field);
  }

 private:
  session::Operation& operation_;
};

/// Finds the session a call names and has `act(session, id, call)` carry it out there; a name that
/// means nothing is answered here.
void in_session(session::Sessions& sessions, const std::optional<std::string>& name,
                mcp::ToolCall call, auto act) {
  const Result<session::Session*> session = sessions.find(name);
  if (!session) {
    std::move(call).answer({.text = session.error().message, .is_error = true});
    return;
  }
  const session::CallId id = (*session)->new_call();
  call.on_cancel([session = *session, id] { session->cancel(id); });
  act(**session, id, std::move(call));
}

/// Adds a tool that is an operation of the agent and nothing more.
template <typename Args>
void forward(mcp::ToolSet& tools, session::Sessions& sessions, mcp::ToolInfo info,
             const char* operation_name) {
  tools.add<Args>(std::move(info), [&sessions, operation_name](Args args, mcp::ToolCall tool_call) {
    in_session(sessions, args.session, std::move(tool_call),
               [&](session::Session& session, session::CallId id, mcp::ToolCall call) {
                 session::Operation operation(operation_name);
                 OperationWriter writer(operation);
                 args.fields(writer);
                 session.call(id, std::move(operation),
                              [call = std::move(call)](const session::Outcome& outcome) mutable {
                                std::move(call).answer(outcome_result(outcome));
                              });
               });
  });
}

}  // namespace clmcp::tools
