#include "mcp/revision.h"

#include <optional>

#include <gtest/gtest.h>

namespace clmcp::mcp {
namespace {

TEST(Revision, ReadsWhatItWrites) {
  for (const Revision revision : {Revision::k2024_11_05, Revision::k2025_03_26,
                                  Revision::k2025_06_18, Revision::k2025_11_25}) {
    EXPECT_EQ(parse_revision(to_string(revision)), revision);
  }
}

TEST(Revision, IsOrderedByAge) {
  EXPECT_LT(Revision::k2024_11_05, Revision::k2025_03_26);
  EXPECT_LT(Revision::k2025_06_18, kNewestRevision);
}

TEST(Revision, KnowsNoOthers) {
  EXPECT_EQ(parse_revision("2026-07-28"), std::nullopt);
  EXPECT_EQ(parse_revision(""), std::nullopt);
}

}  // namespace
}  // namespace clmcp::mcp
