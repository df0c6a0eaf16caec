#include "rpc/exchange.h"

#include <string>
#include <utility>

namespace clmcp::rpc {

void Exchange::notify(std::string notification) {
  sink_(std::move(notification), Part::kNotification);
}

void Exchange::answer(std::string reply) {
  if (shape_ == Shape::kSingle) {
    sink_(std::move(reply), Part::kAnswer);
    return;
  }
  replies_ += replies_.empty() ? '[' : ',';
  replies_ += reply;
  give_up();
}

void Exchange::give_up() {
  if (--awaited_ == 0 && !replies_.empty()) {
    replies_ += ']';
    sink_(std::move(replies_), Part::kAnswer);
  }
}

}  // namespace clmcp::rpc
