#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "worker/form.h"
#include "worker/worker.h"

namespace clmcp::session {

/// What a call is about, for people and for the journal.
struct Subject {
  std::string tool = {};
  std::string text = {};  // code, or the name of a system
  std::optional<std::string> package = {};
  bool changes_state = false;  // Worth a checkpoint and a line in the journal.
};

/// Something to be done in a session's Lisp: the name of an operation of the agent and its
/// arguments. See AGENT-PROTOCOL.md for what there is.
class Operation {
 public:
  explicit Operation(std::string name, Subject subject = {}) : subject_(std::move(subject)) {
    request_.operation = std::move(name);
  }

  void add(std::string_view key, const std::string& value) { put(key, {value}); }

  void add(std::string_view key, std::int64_t value) { put(key, {value}); }

  void add(std::string_view key, bool value) {
    put(key, value ? worker::Form{worker::True{}} : worker::Form{worker::Nil{}});
  }

  /// Left out where there is no value.
  template <typename T>
  void add(std::string_view key, const std::optional<T>& value) {
    if (value) {
      add(key, *value);
    }
  }

  [[nodiscard]] const worker::Request& request() const { return request_; }

  [[nodiscard]] const Subject& subject() const { return subject_; }

 private:
  void put(std::string_view key, worker::Form value);

  worker::Request request_;
  Subject subject_;
};

}  // namespace clmcp::session
