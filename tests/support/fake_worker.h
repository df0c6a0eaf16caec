#pragma once

#include <cstddef>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "worker/form.h"
#include "worker/worker.h"

namespace clmcp::testing {

/// A worker that does what the test says, and remembers what it was asked.
class FakeWorkers final : public worker::WorkerSource {
 public:
  [[nodiscard]] std::unique_ptr<worker::Worker> start(worker::WorkerEvents& events) override {
    ++started;
    current = &events;
    return std::make_unique<Puppet>(*this);
  }

  [[nodiscard]] std::unique_ptr<worker::Worker> resume(std::unique_ptr<worker::Frozen> /*frozen*/,
                                                       worker::WorkerEvents& events) override {
    ++resumed;
    current = &events;
    return std::make_unique<Puppet>(*this);
  }

  /// The events of the worker that was started last; null once it is gone.
  worker::WorkerEvents* current = nullptr;
  int started = 0;
  int interrupts = 0;
  int kills = 0;
  int resumed = 0;
  int frozen = 0;
  std::string why_not_freeze;  ///< set to have no checkpoint made
  bool never_freeze = false;   ///< set to have it wait for one
  std::size_t memory = 0;      ///< that each of them takes, by its own word
  std::vector<std::string> requests;

  void answer(worker::Answer answer) { current->on_answer(std::move(answer)); }

  void answer_value(std::string value) {
    answer({.values = std::vector{std::move(value)}, .package = "COMMON-LISP-USER"});
  }

 private:
  struct Copy final : worker::Frozen {
    explicit Copy(const FakeWorkers& from) : owner(from) {}

    [[nodiscard]] std::size_t memory() const override { return owner.memory; }

    const FakeWorkers& owner;
  };

  class Puppet final : public worker::Worker {
   public:
    explicit Puppet(FakeWorkers& owner) : owner_(owner) {}

    ~Puppet() override { owner_.current = nullptr; }

    Puppet(const Puppet&) = delete;
    Puppet& operator=(const Puppet&) = delete;
    Puppet(Puppet&&) = delete;
    Puppet& operator=(Puppet&&) = delete;

    void request(const worker::Request& request) override {
      std::string text = "(:" + request.operation;
      for (const worker::Form& argument : request.arguments) {
        text += " " + worker::print_form(argument);
      }
      owner_.requests.push_back(text + ")");
    }

    void interrupt() override { ++owner_.interrupts; }

    void kill() override { ++owner_.kills; }

    [[nodiscard]] std::size_t memory() const override { return owner_.memory; }

    void freeze(Froze done) override {
      if (owner_.never_freeze) {
        return;
      }
      if (!owner_.why_not_freeze.empty()) {
        done(std::unexpected(
            Error{.code = ErrorCode::kUnavailable, .message = owner_.why_not_freeze}));
        return;
      }
      ++owner_.frozen;
      done(std::make_unique<Copy>(owner_));
    }

   private:
    FakeWorkers& owner_;
  };
};

}  // namespace clmcp::testing
