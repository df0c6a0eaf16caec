#include "tools/call.h"

#include <string_view>
#include <utility>

#include "session/session.h"
#include "tools/outcome_text.h"

namespace clmcp::tools {

session::Session::Terms Errand::terms() const {
  session::Session::Terms terms = {.wait = wait_};
  if (call_->wants_progress()) {
    // The number means nothing but that there is something new.
    terms.progress = [call = call_, count = 0](std::string_view last_line) mutable {
      call->progress(++count, last_line);
    };
  }
  return terms;
}

session::Session::Done Errand::answer() const {
  return [call = call_, budget = budget_](const session::Outcome& outcome) {
    std::move(*call).answer(outcome_result(outcome, budget));
  };
}

}  // namespace clmcp::tools
