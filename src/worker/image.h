#pragma once

#include <filesystem>
#include <functional>
#include <list>
#include <optional>
#include <string>

#include "base/loop.h"
#include "base/result.h"
#include "worker/reaper.h"

namespace clmcp::worker {

/// Whether `path` is a program that we may run. What is in it, only running it can tell.
[[nodiscard]] bool is_usable_image(const std::filesystem::path& path);

/// Where a worker image may come from.
struct ImageOptions {
  std::filesystem::path image;                ///< made when the server was built
  std::optional<std::filesystem::path> lisp;  ///< another SBCL, to make one with
  std::filesystem::path agent;                ///< the agent's sources, for that
  std::filesystem::path cache;                ///< where such images are kept
};

/// Finds the image to start workers from, and makes it first where another SBCL was asked for: once
/// for each version of that SBCL and of the agent.
class ImageFinder {
 public:
  using Found = std::move_only_function<void(Result<std::filesystem::path>)>;

  ImageFinder(Loop& loop, Reaper& reaper, ImageOptions options);
  ~ImageFinder();
  ImageFinder(const ImageFinder&) = delete;
  ImageFinder& operator=(const ImageFinder&) = delete;
  ImageFinder(ImageFinder&&) = delete;
  ImageFinder& operator=(ImageFinder&&) = delete;

  /// Calls `found` once, later, from the loop. Errors are sentences for people.
  void find(Found found);

  /// Deletes an image that proved useless, if it is one that was made here, so that the next search
  /// makes it anew. False where it is not ours to delete.
  bool discard(const std::filesystem::path& image);

 private:
  struct Job;
  void ask_version(Job& job);
  void build(Job& job);
  void finish(Job& job, Result<std::filesystem::path> result);

  Loop& loop_;
  Reaper& reaper_;
  ImageOptions options_;
  std::list<Job> jobs_;
};

}  // namespace clmcp::worker
