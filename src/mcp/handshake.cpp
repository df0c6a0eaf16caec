#include "mcp/handshake.h"

#include <expected>
#include <string>
#include <utility>

#include "json/fields.h"
#include "json/value.h"
#include "mcp/revision.h"
#include "rpc/error.h"
#include "rpc/message.h"
#include "rpc/peer.h"

namespace clmcp::mcp {
namespace {

json::Object describe(const ServerInfo& info, Revision revision) {
  json::Object object;
  object.emplace("name", info.name);
  if (revision >= Revision::k2025_06_18 && !info.title.empty()) {
    object.emplace("title", info.title);
  }
  object.emplace("version", info.version);
  return object;
}

}  // namespace

std::expected<Handshake, rpc::Error> shake_hands(const json::Object& params,
                                                 const ServerInfo& info) {
  std::string wanted;
  json::Decoder decoder(params);
  decoder.need("protocolVersion", wanted, "");
  if (const auto read = decoder.check(); !read) {
    return std::unexpected(rpc::to_rpc(read.error()));
  }
  const Revision revision = parse_revision(wanted).value_or(kNewestRevision);
  json::Object result;
  result.emplace("protocolVersion", to_string(revision));
  result.emplace("capabilities", json::Object{{"tools", json::Object()}});
  result.emplace("serverInfo", describe(info, revision));
  if (!info.instructions.empty()) {
    result.emplace("instructions", info.instructions);
  }
  return Handshake{.revision = revision, .result = std::move(result)};
}

rpc::Dialect dialect_of(Revision revision) {
  rpc::Dialect dialect;
  if (revision >= Revision::k2025_06_18) {
    dialect.batch_refusal = "Batches were removed in revision 2025-06-18; send messages one by one";
  }
  if (revision >= Revision::k2025_11_25) {
    dialect.no_id = rpc::NoId::kLeftOut;
  }
  return dialect;
}

}  // namespace clmcp::mcp
