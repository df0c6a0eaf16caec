#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>

namespace clmcp::rpc {

/// Takes the text of one message to the client, without a newline.
using Sink = std::move_only_function<void(std::string)>;

/// What one text of the client is answered with: the reply to a single message, or one array with
/// the replies to a batch, once all are there. Where nothing is to be said the sink is not called.
class Exchange {
 public:
  enum class Shape { kSingle, kBatch };

  Exchange(Sink sink, Shape shape) : sink_(std::move(sink)), shape_(shape) {}

  /// One more answer is awaited.
  void expect() { ++awaited_; }

  /// An awaited answer came.
  void answer(std::string reply);

  /// An awaited answer will not come.
  void give_up();

 private:
  Sink sink_;
  Shape shape_;
  std::size_t awaited_ = 0;
  std::string replies_;  // of a batch: "[" and those that came
};

}  // namespace clmcp::rpc
