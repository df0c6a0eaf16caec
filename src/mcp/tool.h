#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "json/fields.h"
#include "json/value.h"
#include "mcp/progress.h"
#include "rpc/error.h"
#include "rpc/reply.h"

namespace clmcp::mcp {

/// What a client may tell its user about a tool before it calls it.
struct ToolHints {
  bool read_only;
  bool destructive;
  bool idempotent;
  bool open_world;
};

struct ToolInfo {
  std::string name;
  std::string title;
  std::string description;
  ToolHints hints;
};

/// What a tool answers. A tool that fails answers too, with `is_error`.
struct ToolResult {
  std::string text;
  bool is_error = false;
};

/// One call of a tool under way. Whoever holds it owes it an answer; dropped unanswered it becomes
/// an internal error. After a cancellation answers write nothing.
class ToolCall {
 public:
  ToolCall(rpc::Reply reply, Progress progress)
      : reply_(std::move(reply)), progress_(std::move(progress)) {}

  /// Whether the client asked to be told how far the call has come.
  [[nodiscard]] bool wants_progress() const { return progress_.is_wanted(); }

  /// Tells the client how far the call has come, in a measure of the tool's own that must grow from
  /// one time to the next: what does not is not sent. Nothing is where the client did not ask, and
  /// after the answer or a cancellation. The message may be any bytes; revision 2024-11-05 has no
  /// place for it.
  void progress(double progress, std::string_view message);

  /// The text may be any bytes; what is not UTF-8 is replaced.
  void answer(const ToolResult& result) &&;

  void fail(rpc::Error error) &&;

  /// Calls `call` when the client cancels, at once if it has done so already.
  void on_cancel(Callback call) { reply_.on_cancel(std::move(call)); }

 private:
  rpc::Reply reply_;
  Progress progress_;
};

/// A tool as the protocol sees it.
struct Tool {
  ToolInfo info;
  json::Object schema;

  /// Runs the tool. With wrong arguments it says what is wrong, and the call is still the caller's.
  std::move_only_function<Result<void>(const json::Object& arguments, ToolCall& call)> run;
};

/// The tools of a server, in the order they were added.
class ToolSet {
 public:
  /// `Args` describes its fields (json/fields.h).
  template <typename Args>
  void add(ToolInfo info, std::move_only_function<void(Args, ToolCall)> handler) {
    auto run = [handler = std::move(handler)](const json::Object& arguments,
                                              ToolCall& call) mutable -> Result<void> {
      Args args = TRY(json::decode<Args>(arguments));
      handler(std::move(args), std::move(call));
      return {};
    };
    tools_.emplace_back(std::move(info), json::schema_of<Args>(), std::move(run));
  }

  [[nodiscard]] const std::vector<Tool>& tools() const { return tools_; }

  /// Null where there is no such tool.
  [[nodiscard]] Tool* find(std::string_view name);

 private:
  std::vector<Tool> tools_;
};

}  // namespace clmcp::mcp
