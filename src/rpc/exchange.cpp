#include "rpc/exchange.h"

#include <string>
#include <utility>

namespace clmcp::rpc {

void Exchange::answer(std::string reply) {
  if (shape_ == Shape::kSingle) {
    sink_(std::move(reply));
    return;
  }
  replies_ += replies_.empty() ? '[' : ',';
  replies_ += reply;
  give_up();
}

void Exchange::give_up() {
  if (--awaited_ == 0 && !replies_.empty()) {
    replies_ += ']';
    sink_(std::move(replies_));
  }
}

}  // namespace clmcp::rpc
