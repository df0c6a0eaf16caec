#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mcp/server.h"
#include "mcp/tool.h"

namespace clmcp::test {

struct EchoArgs {
  std::string text;
  std::optional<std::string> mood;

  void fields(auto& f) {
    f.need("text", text, "What to say");
    f.choice("mood", mood, {"plain", "angry"}, "How to say it");
  }
};

struct NoArgs {
  void fields(auto& /*f*/) {}
};

/// A server with a tool that answers at once, `echo`, and one whose calls the test answers, `wait`.
class EchoServer {
 public:
  std::vector<mcp::ToolCall> waiting;
  mcp::Server server{
      {.name = "echo", .title = "Echo", .version = "1.2.3", .instructions = "Speak."}, tools()};

 private:
  mcp::ToolSet tools() {
    mcp::ToolSet set;
    set.add<EchoArgs>(
        {.name = "echo",
         .title = "Say it again",
         .description = "Answers with what it got.",
         .hints =
             {.read_only = true, .destructive = false, .idempotent = true, .open_world = false}},
        [](EchoArgs args, mcp::ToolCall call) {
          std::move(call).answer({.text = std::move(args.text), .is_error = args.mood == "angry"});
        });
    set.add<NoArgs>(
        {.name = "wait",
         .title = "Wait",
         .description = "Answers later.",
         .hints =
             {.read_only = false, .destructive = true, .idempotent = false, .open_world = true}},
        [this](NoArgs /*args*/, mcp::ToolCall call) { waiting.push_back(std::move(call)); });
    return set;
  }
};

}  // namespace clmcp::test
