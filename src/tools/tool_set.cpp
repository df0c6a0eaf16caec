#include "tools/tool_set.h"

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "json/value.h"
#include "mcp/tool.h"
#include "tools/families.h"

namespace clmcp::tools {
namespace {

std::string parameter_row(const mcp::Tool& tool, std::string_view name,
                          const json::Object& property) {
  bool required = false;
  if (const json::Value* names = tool.schema.if_contains("required")) {
    for (const json::Value& needed : names->as_array()) {
      required = required || needed.as_string() == name;
    }
  }
  std::string doc(property.at("description").as_string());
  if (const json::Value* choices = property.if_contains("enum")) {
    doc += "; one of";
    for (const json::Value& choice : choices->as_array()) {
      doc += fmt::format(" `{}`", std::string_view(choice.as_string()));
    }
  }
  if (const json::Value* minimum = property.if_contains("minimum")) {
    doc += fmt::format("; {} to {}", minimum->as_int64(), property.at("maximum").as_int64());
  }
  return fmt::format("| `{}` | {} | {} | {} |\n", name,
                     std::string_view(property.at("type").as_string()), required ? "yes" : "no",
                     doc);
}

std::string_view yes_no(bool value) {
  return value ? "yes" : "no";
}

}  // namespace

mcp::ToolSet build_tool_set(const Workshop& workshop) {
  mcp::ToolSet tools;
  add_evaluation_tools(tools, workshop);
  add_definition_tools(tools, workshop);
  add_reset_tools(tools, workshop);
  add_system_tools(tools, workshop);
  add_job_tools(tools, workshop);
  add_output_tools(tools, workshop);
  add_checkpoint_tools(tools, workshop);
  add_session_tools(tools, workshop);
  return tools;
}

std::string_view instructions() {
  return R"(A persistent Common Lisp (SBCL) REPL. What you define stays between calls, and no evaluation can cost you more than itself.

- evaluate-lisp takes one form or many; the values of the last are shown as "=> value". Output comes in [stdout] and [stderr], compiler warnings in [warnings], an error as [ERROR] TYPE, message and [Backtrace]; forms before the error have taken effect.
- Build up in small steps: define one function, call it, read the warnings, go on. Redefining is free.
- (in-package :my-package) lasts; the argument "package" is for one call.
- Load libraries and projects with load-system: systems in the directory where the server was started, those ASDF knows, and Quicklisp's where it is installed.
- Ask the image rather than guess: (describe 'x), (documentation 'x 'function), (apropos "name" :package), (macroexpand-1 '(form)).
- Reading from standard input gives end of file.
- A call that takes long answers with a job number and goes on: continue-evaluation waits for it, interrupt-evaluation stops it. Give "timeout" to what may not end.
- Long replies show head and tail; read-output has the rest, by lines or by pattern.
- undo takes back the last calls; checkpoints names states to come back to; "keep": false tries something and puts the session back.
- If a call kills the Lisp process, the reply says so and the session is back to its state before that call. What happened outside of it (files, network) is not undone.
- sessions opens further Lisps, or forks this one with all its state; give "session" to any tool.
- list-definitions shows what this session has defined; reset-session gives a fresh Lisp with the loaded systems loaded again.)";
}

std::string reference_page(const mcp::ToolSet& tools) {
  std::string page =
      "# Tools\n\nWritten by `cl-mcp-server tools` from the tool set itself; do not edit.\n";
  for (const mcp::Tool& tool : tools.tools()) {
    page += fmt::format("\n## {}\n\n{}\n\n", tool.info.name, tool.info.description);
    page += "| parameter | type | required | what |\n| --- | --- | --- | --- |\n";
    for (const auto& [name, property] : tool.schema.at("properties").as_object()) {
      page += parameter_row(tool, name, property.as_object());
    }
    const mcp::ToolHints& hints = tool.info.hints;
    page += fmt::format(
        "\nTitle: {}. Read-only: {}. Destructive: {}. Idempotent: {}. Open world: {}.\n",
        tool.info.title, yes_no(hints.read_only), yes_no(hints.destructive),
        yes_no(hints.idempotent), yes_no(hints.open_world));
  }
  return page;
}

}  // namespace clmcp::tools
