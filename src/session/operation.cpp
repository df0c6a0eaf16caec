#include "session/operation.h"

#include <string>
#include <string_view>
#include <utility>

#include "worker/form.h"

namespace clmcp::session {

void Operation::put(std::string_view key, worker::Form value) {
  request_.arguments.push_back({worker::Keyword{std::string(key)}});
  request_.arguments.push_back(std::move(value));
}

}  // namespace clmcp::session
