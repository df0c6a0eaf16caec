#include "session/replay.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "session/timeline.h"

namespace clmcp::session {
namespace {

/// The first few, and how many more there are.
std::string some_of(const std::vector<std::string>& items) {
  constexpr std::size_t kMost = 10;
  const auto shown = static_cast<std::ptrdiff_t>(std::min(items.size(), kMost));
  std::string text = fmt::format("{}", fmt::join(items.begin(), items.begin() + shown, "; "));
  if (items.size() > kMost) {
    text += fmt::format("; and {} more", items.size() - kMost);
  }
  return text;
}

}  // namespace

void Replay::add(const Step& step) {
  if (!step.rest.empty()) {
    not_replayed_.push_back(step.rest);
  }
  todo_.insert(todo_.end(), step.definitions.begin(), step.definitions.end());
}

void Replay::failed(const std::string& why) {
  failed_.push_back(fmt::format("{} ({})", one_line(next().text), why));
  todo_.erase(todo_.begin() + static_cast<std::ptrdiff_t>(next_));
}

std::string Replay::report() const {
  std::vector<std::string> replayed;
  replayed.reserve(next_);
  for (std::size_t i = 0; i < next_; ++i) {
    replayed.push_back(one_line(todo_[i].text));
  }
  std::string text =
      replayed.empty()
          ? "Nothing was replayed."
          : fmt::format("Replayed, {} {}: {}.", replayed.size(),
                        replayed.size() == 1 ? "definition" : "definitions", some_of(replayed));
  if (!failed_.empty()) {
    text += fmt::format(" Failed when replayed: {}.", some_of(failed_));
  }
  if (!not_replayed_.empty()) {
    text += fmt::format(" Not replayed, since only definitions are: {}.", some_of(not_replayed_));
  }
  return text;
}

std::string beside_definitions(std::string_view code,
                               const std::vector<worker::Definition>& definitions) {
  std::string rest;
  for (const worker::Definition& definition : definitions) {
    const std::size_t at = code.find(definition.text);
    if (at != std::string_view::npos) {
      rest += code.substr(0, at);
      code.remove_prefix(at + definition.text.size());
    }
  }
  return rest += code;
}

}  // namespace clmcp::session
