#include "mcp/tool_methods.h"

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/result.h"
#include "json/fields.h"
#include "json/value.h"
#include "mcp/progress.h"
#include "mcp/revision.h"
#include "mcp/tool.h"
#include "rpc/error.h"
#include "rpc/reply.h"

namespace clmcp::mcp {
namespace {

Error invalid(std::string_view what) {
  return {.code = ErrorCode::kInvalid, .message = std::string(what)};
}

json::Object annotations_of(const ToolInfo& info) {
  json::Object object;
  object.emplace("title", info.title);
  object.emplace("readOnlyHint", info.hints.read_only);
  object.emplace("destructiveHint", info.hints.destructive);
  object.emplace("idempotentHint", info.hints.idempotent);
  object.emplace("openWorldHint", info.hints.open_world);
  return object;
}

json::Object describe(const Tool& tool, Revision revision) {
  json::Object object;
  object.emplace("name", tool.info.name);
  if (revision >= Revision::k2025_06_18) {
    object.emplace("title", tool.info.title);
  }
  object.emplace("description", tool.info.description);
  object.emplace("inputSchema", tool.schema);
  if (revision >= Revision::k2025_03_26) {
    object.emplace("annotations", annotations_of(tool.info));
  }
  return object;
}

bool given(const json::Value* value) {
  return value != nullptr && !value->is_null();
}

struct CallParams {
  std::string name;
  const json::Object* arguments = nullptr;  ///< null where the message has none
};

Result<CallParams> read_params(const json::Object& params) {
  CallParams call;
  json::Decoder decoder(params);
  decoder.need("name", call.name, "");
  TRY(decoder.check());
  if (const json::Value* arguments = params.if_contains("arguments"); given(arguments)) {
    if (!arguments->is_object()) {
      return std::unexpected(invalid("parameter 'arguments' must be an object"));
    }
    call.arguments = &arguments->get_object();
  }
  return call;
}

/// Up to 2025-06-18 wrong arguments are an error of the protocol. Later revisions want the model to
/// read what is wrong, so that it can mend its call (SEP-1303).
void refuse_arguments(const Error& why, Revision revision, ToolCall call) {
  rpc::Error error = rpc::to_rpc(why);
  if (revision >= Revision::k2025_11_25) {
    std::move(call).answer({.text = std::move(error.message), .is_error = true});
  } else {
    std::move(call).fail(std::move(error));
  }
}

}  // namespace

void list_tools(const ToolSet& tools, Revision revision, const json::Object& params,
                rpc::Reply reply) {
  // There is one page, so a cursor is read and not used.
  std::optional<std::string> cursor;
  json::Decoder decoder(params);
  decoder.opt("cursor", cursor, "");
  if (const auto read = decoder.check(); !read) {
    return std::move(reply).error(rpc::to_rpc(read.error()));
  }
  json::Array list;
  for (const Tool& tool : tools.tools()) {
    list.emplace_back(describe(tool, revision));
  }
  json::Object result;
  result.emplace("tools", std::move(list));
  std::move(reply).result(std::move(result));
}

void call_tool(ToolSet& tools, Revision revision, const json::Object& params, rpc::Reply reply) {
  ToolCall call(std::move(reply), Progress(params, revision));
  const auto wanted = read_params(params);
  if (!wanted) {
    return std::move(call).fail(rpc::to_rpc(wanted.error()));
  }
  Tool* tool = tools.find(wanted->name);
  if (tool == nullptr) {
    return std::move(call).fail(
        {.code = rpc::Code::kInvalidParams, .message = "Unknown tool: " + wanted->name});
  }
  const json::Object none;
  const json::Object& arguments = wanted->arguments == nullptr ? none : *wanted->arguments;
  if (const auto started = tool->run(arguments, call); !started) {
    refuse_arguments(started.error(), revision, std::move(call));
  }
}

}  // namespace clmcp::mcp
