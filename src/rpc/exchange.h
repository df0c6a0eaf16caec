#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>

namespace clmcp::rpc {

/// What a text is to the exchange it belongs to: the answer ends it, and notifications come before.
enum class Part { kNotification, kAnswer };

/// Takes the text of one message to the client, without a newline. It is called any number of times
/// with a notification, which it may drop where the client does not read, and then at most once
/// with the answer; after that, or where there is none to come, it is destroyed.
using Sink = std::move_only_function<void(std::string text, Part part)>;

/// What one text of the client is answered with: the reply to a single message, or one array with
/// the replies to a batch, once all are there. Notifications about its requests are messages of
/// their own and do not wait for the array. Where nothing is to be said the sink is not called.
class Exchange {
 public:
  enum class Shape { kSingle, kBatch };

  Exchange(Sink sink, Shape shape) : sink_(std::move(sink)), shape_(shape) {}

  /// One more answer is awaited.
  void expect() { ++awaited_; }

  /// Something about an awaited answer that the client should hear before it.
  void notify(std::string notification);

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
