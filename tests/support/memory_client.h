#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "json/value.h"
#include "mcp/client.h"
#include "mcp/server.h"
#include "rpc/exchange.h"

namespace clmcp::test {

/// A client that talks to a Server without a transport. What the server answers at once is there
/// when the call returns; what it answers later is added then.
class MemoryClient {
 public:
  explicit MemoryClient(mcp::Server& server) : client_(server) {}

  /// Sends a text as it is.
  void send(std::string_view text) {
    client_.receive(text, [this](std::string message, rpc::Part /*part*/) {
      received_.push_back(std::move(message));
    });
  }

  /// Sends a request with the next id (1, 2, 3 …), which it returns.
  std::int64_t request(std::string_view method, json::Object params = {}) {
    send(json::print(
        {{"jsonrpc", "2.0"}, {"id", ++id_}, {"method", method}, {"params", std::move(params)}}));
    return id_;
  }

  void notify(std::string_view method, json::Object params = {}) {
    send(json::print({{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}}));
  }

  /// Sends `initialize` and forgets its answer.
  void initialize(std::string_view revision) {
    request("initialize", {{"protocolVersion", revision},
                           {"capabilities", json::Object()},
                           {"clientInfo", {{"name", "test"}, {"version", "1"}}}});
    received_.clear();
  }

  std::int64_t call_tool(std::string_view name, json::Object arguments = {}) {
    return request("tools/call", {{"name", name}, {"arguments", std::move(arguments)}});
  }

  /// Every text received since the last take.
  std::vector<std::string> take() { return std::exchange(received_, {}); }

  /// The only text received since the last take; "" for none, and all of them for several.
  std::string take_one() {
    std::string all;
    for (const std::string& text : take()) {
      all += (all.empty() ? "" : "\n") + text;
    }
    return all;
  }

  /// The same as JSON; null for none.
  json::Value take_json() {
    const std::string text = take_one();
    return text.empty() ? json::Value() : boost::json::parse(text);
  }

  [[nodiscard]] mcp::Client& client() { return client_; }

 private:
  std::vector<std::string> received_;
  std::int64_t id_ = 0;
  mcp::Client client_;
};

}  // namespace clmcp::test
