#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/limits.h"
#include "base/result.h"
#include "json/fields.h"
#include "mcp/tool.h"
#include "session/operation.h"
#include "session/session.h"
#include "session/sessions.h"
#include "session/timeline.h"

namespace clmcp::tools {

/// What all tools work with.
struct Workshop {
  session::Sessions& sessions;
  Duration wait = limits::kWait;                  ///< for a reply, where a call does not say
  std::size_t budget = limits::kReplyCharacters;  ///< of characters, where a call does not say
};

constexpr std::string_view kSessionDoc = "Session to use (default: 'default')";
constexpr std::string_view kBudgetDoc = "Characters the reply may have (default: 32000)";
constexpr json::Range kBudgets{limits::kLeastReplyCharacters, limits::kMostReplyCharacters};

/// The arguments of every tool whose calls may take long.
struct CallArgs {
  std::optional<double> wait;
  std::optional<std::int64_t> budget;
  std::optional<std::string> session;

  void fields(auto& f) {
    f.opt("wait", wait,
          "Seconds to wait for the answer; then the reply gives a job number and the work goes on "
          "(default: 50)",
          json::Range{0, 86'400});
    f.opt("budget", budget, kBudgetDoc, kBudgets);
    f.opt("session", session, kSessionDoc);
  }
};

[[nodiscard]] inline Duration seconds(double count) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(count));
}

/// The reading of a tool's arguments that makes the message to the agent.
class OperationWriter {
 public:
  explicit OperationWriter(session::Operation& operation) : operation_(operation) {}

  void need(std::string_view name, const auto& field, std::string_view /*doc*/) {
    operation_.add(name, field);
  }

  void opt(std::string_view name, const auto& field, std::string_view /*doc*/) {
    operation_.add(name, field);
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

/// One call of a tool on its way through a session: who is to be answered, and how.
class Errand {
 public:
  Errand(const Workshop& workshop, const CallArgs& args, mcp::ToolCall call)
      : call_(std::make_shared<mcp::ToolCall>(std::move(call))),
        wait_(args.wait ? seconds(*args.wait) : workshop.wait),
        budget_(args.budget ? static_cast<std::size_t>(*args.budget) : workshop.budget) {}

  /// How the session is to make the call.
  [[nodiscard]] session::Session::Terms terms() const;

  /// What a session calls with the outcome. It is all there is to say: whoever waits for a job says
  /// the same.
  [[nodiscard]] session::Session::Done answer() const;

  void on_cancel(Callback callback) { call_->on_cancel(std::move(callback)); }

  void say(std::string text) { std::move(*call_).answer({.text = std::move(text)}); }

  void refuse(std::string why) {
    std::move(*call_).answer({.text = std::move(why), .is_error = true});
  }

 private:
  std::shared_ptr<mcp::ToolCall> call_;
  Duration wait_;
  std::size_t budget_;
};

/// Finds the session a call names and has `act(session, id, errand)` carry it out there, under a
/// number of its own; a name that means nothing is answered here.
void in_session(const Workshop& workshop, const CallArgs& args, mcp::ToolCall call, auto act) {
  Errand errand(workshop, args, std::move(call));
  const Result<std::shared_ptr<session::Session>> session = workshop.sessions.find(args.session);
  if (!session) {
    errand.refuse(session.error().message);
    return;
  }
  const session::CallId id = (*session)->new_call();
  errand.on_cancel([weak = std::weak_ptr(*session), id] {
    if (const auto alive = weak.lock()) {
      alive->cancel(id);
    }
  });
  act(**session, id, std::move(errand));
}

/// Has the session's agent carry out `operation` with the arguments that are for it.
void forward(const Workshop& workshop, auto& args, mcp::ToolCall call, session::Operation operation,
             std::optional<double> timeout = {}, bool keep = true) {
  OperationWriter writer(operation);
  args.agent_fields(writer);
  in_session(workshop, args.call, std::move(call),
             [&](session::Session& session, session::CallId id, const Errand& errand) {
               session::Session::Terms terms = errand.terms();
               terms.keep = keep;
               if (timeout) {
                 terms.timeout = seconds(*timeout);
               }
               session.call(id, std::move(operation), std::move(terms), errand.answer());
             });
}

}  // namespace clmcp::tools
