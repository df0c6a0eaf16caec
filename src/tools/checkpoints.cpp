// checkpoints and undo: states of a session that it can go back to.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/limits.h"
#include "json/fields.h"
#include "mcp/tool.h"
#include "session/session.h"
#include "session/timeline.h"
#include "tools/call.h"
#include "tools/families.h"

namespace clmcp::tools {
namespace {

struct CheckpointsArgs {
  std::string action;
  std::optional<std::string> name;
  CallArgs call;

  void fields(auto& f) {
    f.need_choice("action", action, {"save", "list", "restore", "drop"},
                  "save gives the present state a name, restore goes back to it");
    f.opt("name", name, "Name of the checkpoint; needed but for list");
    call.fields(f);
  }
};

struct UndoArgs {
  std::optional<std::int64_t> calls;
  CallArgs call;

  void fields(auto& f) {
    f.opt("calls", calls, "How many calls to undo (default: 1)", json::Range{1, 10'000});
    call.fields(f);
  }
};

std::string describe(const session::Step& step, TimePoint now) {
  const auto age = std::chrono::duration_cast<std::chrono::seconds>(now - step.when);
  std::string text =
      step.after == 0 ? step.what : fmt::format("after call {}: {}", step.after, step.what);
  text += fmt::format(", {} s ago", age.count());
  if (!step.is_kept()) {
    return text +
           fmt::format(", no checkpoint: {}", step.why_none.empty() ? "it is gone" : step.why_none);
  }
  const double bytes =
      step.snapshot->frozen ? static_cast<double>(step.snapshot->frozen->memory()) : 0;
  return text + fmt::format(", {:.1f} MB", bytes / (1024 * 1024));
}

std::string list(const session::Timeline& timeline, TimePoint now) {
  std::string text = "[Checkpoints]";
  for (const auto& [name, step] : timeline.names()) {
    text += fmt::format("\n- {}: {}", name, describe(step, now));
  }
  if (timeline.names().empty()) {
    text += "\nNone has a name.";
  }
  text += "\n\n[Undo]";
  const auto& steps = timeline.steps();
  for (std::size_t back = 1; back < steps.size(); ++back) {
    text += fmt::format("\n- {} {} back: {}", back, back == 1 ? "call" : "calls",
                        describe(steps[steps.size() - 1 - back], now));
  }
  if (steps.size() < 2) {
    text += "\nThere is nothing to undo.";
  }
  return text;
}

void act_on_checkpoint(const CheckpointsArgs& args, const std::string& name,
                       session::Session& session, session::CallId id, Errand errand) {
  if (args.action == "save") {
    session.save(id, name, errand.terms(), errand.answer());
  } else if (args.action == "restore") {
    session.restore(id, name, errand.terms(), errand.answer());
  } else if (session.drop(name)) {
    errand.say(fmt::format("Dropped checkpoint '{}'.", name));
  } else {
    errand.refuse(fmt::format("There is no checkpoint named '{}'.", name));
  }
}

}  // namespace

void add_checkpoint_tools(mcp::ToolSet& tools, const Workshop& workshop) {
  tools.add<CheckpointsArgs>(
      {.name = "checkpoints",
       .title = "Checkpoints",
       .description = "Save the whole state of the session under a name, list the saved states, go "
                      "back to one, or drop one. A state is everything in the Lisp process; files "
                      "and other things outside of it are not part of it.",
       .hints =
           {.read_only = false, .destructive = true, .idempotent = false, .open_world = false}},
      [workshop](CheckpointsArgs args, mcp::ToolCall tool_call) {
        in_session(workshop, args.call, std::move(tool_call),
                   [&](session::Session& session, session::CallId id, Errand errand) {
                     if (args.action == "list") {
                       errand.say(list(session.timeline(), session.now()));
                     } else if (!args.name || args.name->empty() ||
                                args.name->size() > limits::kNameBytes) {
                       errand.refuse(fmt::format("The action {} needs a 'name' of 1 to {} bytes.",
                                                 args.action, limits::kNameBytes));
                     } else {
                       act_on_checkpoint(args, *args.name, session, id, std::move(errand));
                     }
                   });
      });
  tools.add<UndoArgs>(
      {.name = "undo",
       .title = "Undo",
       .description =
           "Put the session back to its state before the last call that could change it, "
           "or several calls back. What calls did outside of the Lisp process (files, "
           "network) is not undone.",
       .hints =
           {.read_only = false, .destructive = true, .idempotent = false, .open_world = false}},
      [workshop](const UndoArgs& args, mcp::ToolCall tool_call) {
        in_session(workshop, args.call, std::move(tool_call),
                   [&](session::Session& session, session::CallId id, const Errand& errand) {
                     session.undo(id, static_cast<std::size_t>(args.calls.value_or(1)),
                                  errand.terms(), errand.answer());
                   });
      });
}

}  // namespace clmcp::tools
