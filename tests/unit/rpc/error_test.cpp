#include "rpc/error.h"

#include <string>

#include <gtest/gtest.h>

#include "base/error.h"
#include "json/value.h"

namespace clmcp::rpc {
namespace {

std::string print(ErrorCode code) {
  return json::print(to_json(to_rpc({.code = code, .message = "why"})));
}

TEST(Error, OfOursBecomesOneOfJsonRpc) {
  EXPECT_EQ(print(ErrorCode::kSyntax), R"({"code":-32700,"message":"Parse error","data":"why"})");
  EXPECT_EQ(print(ErrorCode::kLimit),
            R"({"code":-32600,"message":"Invalid Request","data":"why"})");
  EXPECT_EQ(print(ErrorCode::kInvalid), R"({"code":-32602,"message":"Invalid params: why"})");
  EXPECT_EQ(print(ErrorCode::kNotFound), R"({"code":-32602,"message":"Invalid params: why"})");
  EXPECT_EQ(print(ErrorCode::kSystem),
            R"({"code":-32603,"message":"Internal error","data":"why"})");
  EXPECT_EQ(print(ErrorCode::kUnavailable),
            R"({"code":-32603,"message":"Internal error","data":"why"})");
}

}  // namespace
}  // namespace clmcp::rpc
