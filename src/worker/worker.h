#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/interface.h"
#include "base/result.h"
#include "worker/form.h"

namespace clmcp::worker {

/// What ended an operation in Lisp.
struct Condition {
  std::string type;
  std::string message;
  std::vector<std::string> backtrace;
};

/// A loaded system and where its definition was found, so that it can be loaded again.
struct SystemRef {
  std::string name;
  std::optional<std::string> definition;
};

/// A top-level form that defined something: as it was written, and the package it was read in.
struct Definition {
  std::string text;
  std::string package;
};

/// What the agent says when an operation is done.
struct Answer {
  std::optional<std::vector<std::string>> values = {};
  std::optional<std::string> text = {};
  std::vector<std::string> warnings = {};
  std::optional<Condition> condition = {};
  std::string package = {};
  std::optional<std::vector<SystemRef>> systems = {};
  std::vector<Definition> definitions = {};
};

/// An operation of the agent with its arguments, a property list.
struct Request {
  std::string operation;
  Form::List arguments;
};

enum class Stream { kOutput, kError };

/// What a worker tells its owner. on_end is the last call; the worker may be destroyed in it.
class WorkerEvents : public Interface {
 public:
  virtual void on_ready() = 0;
  virtual void on_output(Stream stream, std::string_view bytes) = 0;
  /// The running operation is being stopped, and this is where its code was. Its answer follows,
  /// unless a cleanup form never ends; another interrupt may come before and say it anew.
  virtual void on_interrupting(std::vector<std::string> backtrace) = 0;
  /// All output that the operation wrote has been passed on before.
  virtual void on_answer(Answer answer) = 0;
  /// The worker is gone; `how` is a sentence that says how it ended.
  virtual void on_end(std::string how) = 0;
};

/// What a worker was at some moment: a copy of it that waits to take its place. Destroying it lets
/// it go.
class Frozen : public Interface {
 public:
  /// Its share of the machine's memory, in bytes: pages that processes share are counted in parts.
  /// 0 where it cannot be told.
  [[nodiscard]] virtual std::size_t memory() const = 0;
};

/// One Lisp process that serves one request at a time. Destroying it ends the process and
/// everything it started.
class Worker : public Interface {
 public:
  /// Only after on_ready, and after the answer to the request before.
  virtual void request(const Request& request) = 0;
  /// Asks the running operation to stop; its answer then says that it was interrupted.
  virtual void interrupt() = 0;
  using Froze = std::move_only_function<void(Result<std::unique_ptr<Frozen>>)>;

  /// Makes a frozen copy; only while no request is under way. `done` gets it, or why there can be
  /// none; it is not called when the worker ends meanwhile.
  virtual void freeze(Froze done) = 0;
  /// Ends the process; on_end follows.
  virtual void kill() = 0;
  /// As Frozen::memory.
  [[nodiscard]] virtual std::size_t memory() const = 0;
};

/// Where workers come from: SBCL in the product, a puppet in tests.
class WorkerSource : public Interface {
 public:
  /// Starts one. Its events come later, never from inside this call.
  [[nodiscard]] virtual std::unique_ptr<Worker> start(WorkerEvents& events) = 0;
  /// Lets a frozen copy go on; it is ready, or has ended, as one that was started.
  [[nodiscard]] virtual std::unique_ptr<Worker> resume(std::unique_ptr<Frozen> frozen,
                                                       WorkerEvents& events) = 0;
};

}  // namespace clmcp::worker
