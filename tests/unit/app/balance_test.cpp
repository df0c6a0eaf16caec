#include "app/balance.h"

#include <gtest/gtest.h>

namespace clmcp::app {
namespace {

TEST(Balance, IsCompleteWhenEveryParenthesisIsClosed) {
  for (const char* text : {"(+ 1 2)", "42", "foo", "\"a string\"", "'(1 2)\n", "(list #\\( 1)",
                           "(list \"(\" 1)", "#| ( |# 1", "(a) ; (", "|a(b|", "(foo))", "\\( 1"}) {
    EXPECT_EQ(balance_of(text), Balance::kComplete) << text;
  }
}

TEST(Balance, IsOpenWhileSomethingIsMissing) {
  for (const char* text : {"(+ 1", "(list #\\) 1", "\"a", "(list \")", "#| a", "#| #| |# a", "|a",
                           "(a ; )", "(defun f ()\n"}) {
    EXPECT_EQ(balance_of(text), Balance::kOpen) << text;
  }
}

TEST(Balance, IsEmptyWithoutAForm) {
  for (const char* text : {"", "  \n", "; comment\n", "#| comment |#"}) {
    EXPECT_EQ(balance_of(text), Balance::kEmpty) << text;
  }
}

}  // namespace
}  // namespace clmcp::app
