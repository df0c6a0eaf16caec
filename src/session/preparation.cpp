#include "session/preparation.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "worker/form.h"
#include "worker/worker.h"

namespace clmcp::session {

worker::Request restore_request(const std::vector<worker::SystemRef>& systems) {
  worker::Form::List list;
  for (const worker::SystemRef& system : systems) {
    worker::Form definition;
    if (system.definition) {
      definition.value = *system.definition;
    }
    list.push_back({worker::Form::List{{system.name}, std::move(definition)}});
  }
  return {.operation = "restore-systems",
          .arguments = {{worker::Keyword{"systems"}}, {std::move(list)}}};
}

Preparation::Preparation(worker::WorkerSource& workers, std::vector<worker::SystemRef> systems,
                         Done done)
    : systems_(std::move(systems)), done_(std::move(done)), worker_(workers.start(*this)) {}

void Preparation::on_ready() {
  worker_->request(restore_request(systems_));
}

void Preparation::on_answer(worker::Answer answer) {
  if (answer.condition || !answer.text.value_or("").empty()) {
    conclude(nullptr);  // Not all could be loaded; a reset should say so itself.
    return;
  }
  worker_->freeze([this](Result<std::unique_ptr<worker::Frozen>> frozen) {
    conclude(frozen ? *std::move(frozen) : nullptr);
  });
}

void Preparation::on_end(std::string /*how*/) {
  conclude(nullptr);
}

void Preparation::conclude(std::unique_ptr<worker::Frozen> frozen) {
  Done done = std::move(done_);
  done(std::move(frozen));  // May destroy us: nothing may follow.
}

}  // namespace clmcp::session
