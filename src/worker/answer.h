#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "worker/frame.h"
#include "worker/worker.h"

namespace clmcp::worker {

/// The agent's first message.
struct Ready {
  std::int64_t protocol;
};

/// The agent's answer to the request with this number.
struct Done {
  std::int64_t id;
  Answer answer;
};

/// The agent is about to stop the request with this number, and where the code was.
struct Interrupting {
  std::int64_t id;
  std::vector<std::string> backtrace;
};

/// A frozen copy's first message.
struct FrozenCopy {
  std::int64_t pid;
};

using AgentMessage = std::variant<Ready, Done, Interrupting, FrozenCopy>;

/// Makes sense of a frame's payload. Unknown keys are passed over; a missing or mistyped one is an
/// error, since then the agent is not the one we know.
[[nodiscard]] Result<AgentMessage> parse_agent_message(std::string_view payload);

/// The next message among the frames that have come; nothing while there is no whole one.
[[nodiscard]] Result<std::optional<AgentMessage>> next_agent_message(FrameReader& frames);

/// The payload that asks for `request` under the number `id`.
[[nodiscard]] std::string print_request(const Request& request, std::int64_t id);

}  // namespace clmcp::worker
