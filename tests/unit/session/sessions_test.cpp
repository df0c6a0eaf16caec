#include "session/sessions.h"

#include <optional>

#include <gtest/gtest.h>

#include "base/log.h"
#include "support/fake_clock.h"
#include "support/fake_worker.h"

namespace clmcp::session {
namespace {

TEST(Sessions, KnowsTheDefaultOneWithAndWithoutItsName) {
  clmcp::testing::FakeClock clock;
  clmcp::testing::FakeWorkers workers;
  Log log(LogLevel::kOff, 2);
  Sessions sessions(workers, clock, log);
  EXPECT_EQ(*sessions.find(std::nullopt), *sessions.find("default"));
}

TEST(Sessions, NamesTheOneThatDoesNotExist) {
  clmcp::testing::FakeClock clock;
  clmcp::testing::FakeWorkers workers;
  Log log(LogLevel::kOff, 2);
  Sessions sessions(workers, clock, log);
  EXPECT_EQ(sessions.find("other").error().message,
            "There is no session named 'other'. The only one is 'default'.");
}

}  // namespace
}  // namespace clmcp::session
