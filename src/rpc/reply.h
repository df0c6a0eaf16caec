#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/clock.h"
#include "json/value.h"
#include "rpc/error.h"
#include "rpc/message.h"

namespace clmcp::rpc {

class InFlight;

/// The answer that a request is owed. It is given exactly once: a Reply that is dropped answers
/// "Internal error" by itself, and one whose request was cancelled, or whose client is gone, says
/// nothing.
class Reply {
 public:
  /// Made by InFlight::open().
  Reply(std::weak_ptr<InFlight> requests, std::uint64_t ticket);
  ~Reply();
  Reply(Reply&& other) noexcept = default;
  Reply& operator=(Reply&& other) noexcept;
  Reply(const Reply&) = delete;
  Reply& operator=(const Reply&) = delete;

  /// Tells the client something about the request before the answer; nothing once that is given.
  void notify(std::string_view method, json::Object params) const;

  void result(json::Object result) &&;
  void error(Error error) &&;

  /// Calls `call` when the client cancels the request, at once if it has done so already.
  void on_cancel(Callback call);

 private:
  void settle(Outcome outcome);

  std::weak_ptr<InFlight> requests_;  // empty once answered or moved from
  std::uint64_t ticket_;
};

}  // namespace clmcp::rpc
