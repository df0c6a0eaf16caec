#include "worker/image.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <expected>
#include <filesystem>
#include <fstream>
#include <ios>
#include <iterator>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <unistd.h>

#include <fmt/format.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/loop.h"
#include "base/result.h"
#include "worker/command.h"
#include "worker/reaper.h"

namespace clmcp::worker {
namespace {

namespace fs = std::filesystem;

std::unexpected<Error> unavailable(std::string message) {
  return std::unexpected(Error{.code = ErrorCode::kUnavailable, .message = std::move(message)});
}

/// A name that changes with the SBCL and with any of the agent's files.
std::string image_name(std::string_view version, const fs::path& lisp, const fs::path& agent) {
  std::vector<fs::path> files;
  std::error_code error;
  std::ranges::copy(fs::directory_iterator(agent, error), std::back_inserter(files));
  std::ranges::sort(files);
  std::uint64_t sum = hash(lisp.native());
  for (const fs::path& file : files) {
    std::ifstream stream(file, std::ios::binary);
    std::ostringstream text;
    text << stream.rdbuf();
    sum = hash(text.str(), hash(file.filename().native(), sum));
  }
  std::string name = fmt::format("worker-{}-{:016x}", version, sum);
  std::ranges::replace(name, '/', '-');
  std::ranges::replace(name, ' ', '-');
  return name;
}

/// A bare name is looked for along PATH, as a shell would.
fs::path resolve_program(const fs::path& program) {
  if (program.native().find('/') != std::string::npos) {
    return program;
  }
  const char* search = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): one thread
  std::istringstream directories(search == nullptr ? "" : search);
  for (std::string directory; std::getline(directories, directory, ':');) {
    fs::path candidate = fs::path(directory) / program;
    if (::access(candidate.c_str(), X_OK) == 0) {
      return candidate;
    }
  }
  return program;
}

/// What matters in what an SBCL printed: the report of an unhandled condition, on the line below
/// the one that says so, with a long backtrace behind it; else the last line.
std::string telling_line(const std::string& text) {
  std::istringstream lines(text);
  std::string last = "it said nothing";
  for (std::string line; std::getline(lines, line);) {
    line.erase(0, line.find_first_not_of(" ;\t"));
    if (last.starts_with("Unhandled ")) {
      return line;
    }
    if (!line.empty()) {
      last = line;
    }
  }
  return last;
}

}  // namespace

bool is_usable_image(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && fs::file_size(path, error) > 0 &&
         ::access(path.c_str(), R_OK | X_OK) == 0;
}

/// One search, from the question to the answer.
struct ImageFinder::Job {
  Found found;
  fs::path lisp;
  fs::path target;
  fs::path unfinished;
  std::unique_ptr<Command> command;  // The step that is under way.
};

ImageFinder::ImageFinder(Loop& loop, Reaper& reaper, ImageOptions options)
    : loop_(loop), reaper_(reaper), options_(std::move(options)) {}

ImageFinder::~ImageFinder() {
  for (Job& job : jobs_) {
    job.command.reset();  // Ends it, so that nothing more is written.
    std::error_code ignored;
    fs::remove(job.unfinished, ignored);
  }
}

bool ImageFinder::discard(const fs::path& image) {
  std::error_code ignored;
  return options_.lisp && image.parent_path() == options_.cache && fs::remove(image, ignored);
}

void ImageFinder::find(Found found) {
  if (options_.lisp) {
    Job& job = jobs_.emplace_back();
    job.found = std::move(found);
    job.lisp = resolve_program(*options_.lisp);
    ask_version(job);
    return;
  }
  Result<fs::path> result = options_.image;
  if (!is_usable_image(options_.image)) {
    result = unavailable(fmt::format(
        "There is no usable worker image at {}. Make it with 'make build', or name an SBCL with "
        "--lisp.",
        options_.image.native()));
  }
  loop_.post([found = std::move(found), result = std::move(result)]() mutable {
    found(std::move(result));
  });
}

void ImageFinder::ask_version(Job& job) {
  auto then = [this, &job](const CommandResult& result) {
    const std::string answer = telling_line(result.output);
    if (!result.succeeded() || !answer.starts_with("SBCL ")) {
      finish(job, unavailable(fmt::format(
                      "{} is not a usable SBCL: asked for its version, it answered '{}'. Name "
                      "another with --lisp.",
                      job.lisp.native(), answer)));
      return;
    }
    job.target = options_.cache / image_name(answer.substr(5), job.lisp, options_.agent);
    if (is_usable_image(job.target)) {
      finish(job, job.target);
    } else {
      build(job);
    }
  };
  auto command = Command::start(loop_, reaper_, {job.lisp.native(), "--version"}, {},
                                limits::kWorkerStart, std::move(then));
  if (!command) {
    loop_.post([this, &job, error = std::move(command).error()] {
      finish(job,
             unavailable(fmt::format("{}. Name an SBCL that exists with --lisp.", error.message)));
    });
    return;
  }
  job.command = std::move(*command);
}

void ImageFinder::build(Job& job) {
  std::error_code error;
  fs::create_directories(options_.cache, error);
  if (error) {
    finish(job, unavailable(fmt::format("Cannot make the directory {} for worker images: {}.",
                                        options_.cache.native(), error.message())));
    return;
  }
  // Made under a name of our own and renamed: two servers may do this at once, and none may ever
  // start a half-written image.
  job.unfinished = fmt::format("{}.{}", job.target.native(), ::getpid());
  auto then = [this, &job](const CommandResult& result) {
    std::error_code failure;
    if (!result.succeeded()) {
      fs::remove(job.unfinished, failure);
      finish(job, unavailable(fmt::format("{} could not make a worker image in {}: {}.",
                                          job.lisp.native(), options_.cache.native(),
                                          telling_line(result.output))));
      return;
    }
    fs::rename(job.unfinished, job.target, failure);
    if (failure) {
      finish(job, unavailable(
                      fmt::format("Cannot write {}: {}.", job.target.native(), failure.message())));
      return;
    }
    finish(job, job.target);
  };
  auto command = Command::start(
      loop_, reaper_,
      {job.lisp.native(), "--noinform", "--non-interactive", "--no-sysinit", "--no-userinit",
       "--load", (options_.agent / "build.lisp").native()},
      {{"CL_MCP_WORKER_IMAGE", job.unfinished.native()}}, limits::kImageBuild, std::move(then));
  if (!command) {
    finish(job, unavailable(fmt::format("{}.", command.error().message)));
    return;
  }
  job.command = std::move(*command);
}

void ImageFinder::finish(Job& job, Result<fs::path> result) {
  Found found = std::move(job.found);
  jobs_.remove_if([&job](const Job& other) { return &other == &job; });
  found(std::move(result));
}

}  // namespace clmcp::worker
