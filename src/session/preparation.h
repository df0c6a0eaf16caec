#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "worker/worker.h"

namespace clmcp::session {

/// The request that loads systems again.
[[nodiscard]] worker::Request restore_request(const std::vector<worker::SystemRef>& systems);

/// Makes in the background what a reset leads to: a fresh Lisp in which the systems are loaded.
/// Destroying it calls it off.
class Preparation final : private worker::WorkerEvents {
 public:
  /// Null where it could not be made.
  using Done = std::move_only_function<void(std::unique_ptr<worker::Frozen>)>;

  /// `done` is called once, later, and may destroy this.
  Preparation(worker::WorkerSource& workers, std::vector<worker::SystemRef> systems, Done done);

 private:
  void on_ready() override;

  void on_output(worker::Stream /*stream*/, std::string_view /*bytes*/) override {}

  void on_interrupting(std::vector<std::string> /*backtrace*/) override {}

  void on_answer(worker::Answer answer) override;
  void on_end(std::string how) override;
  void conclude(std::unique_ptr<worker::Frozen> frozen);

  std::vector<worker::SystemRef> systems_;
  Done done_;
  std::unique_ptr<worker::Worker> worker_;
};

}  // namespace clmcp::session
