#pragma once

#include <expected>
#include <string>

#include "json/value.h"
#include "mcp/revision.h"
#include "rpc/error.h"
#include "rpc/peer.h"

/// `initialize`, which the revisions from 2024-11-05 to 2025-11-25 begin with. The later ones have
/// no handshake, so nothing outside this file may depend on one having taken place.
namespace clmcp::mcp {

/// What the server says about itself.
struct ServerInfo {
  std::string name;
  std::string title;
  std::string version;
  std::string instructions;  ///< for the model; left out where empty
};

struct Handshake {
  Revision revision;
  json::Object result;
};

/// Answers the parameters of `initialize`. A revision we do not know is answered with our newest,
/// and the client decides whether it can live with that. Only the revision must be there: clients
/// that leave out what the schema requires besides lose nothing.
[[nodiscard]] std::expected<Handshake, rpc::Error> shake_hands(const json::Object& params,
                                                               const ServerInfo& info);

/// How messages look in a revision.
[[nodiscard]] rpc::Dialect dialect_of(Revision revision);

}  // namespace clmcp::mcp
