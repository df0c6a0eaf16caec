#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "session/session.h"
#include "session/timeline.h"

/// Sentences that several parts of a session say.
namespace clmcp::session {

constexpr std::string_view kNotUndone =
    "Files written, messages sent and programs started since are not undone.";

/// An outcome of our own making.
[[nodiscard]] Outcome failure(std::string type, std::string message);

[[nodiscard]] std::string seconds_text(Duration time);

/// What a reset says. `remarks` are about systems that could not be brought back.
[[nodiscard]] std::string reset_text(std::string_view remarks);

/// A step as the moment after its call.
[[nodiscard]] std::string step_text(const Step& step);

}  // namespace clmcp::session
