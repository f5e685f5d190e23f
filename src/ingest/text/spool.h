#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "io/new_folder.h"

namespace plimsoll {

/// Copies of inputs that can be read only once, such as pipes and standard input. They are in a temporary
/// folder next to the output. The folder is removed when this object is destroyed. Not thread-safe. Errors:
/// Failure (disk), BudgetExceeded, and those of `tick`.
class Spool {
 public:
  /// `out` is the path of the output; `files` must outlive this object.
  explicit Spool(std::filesystem::path out, FileSystem& files) : out_(std::move(out)), files_(files) {}

  /// If `input` is a pipe, a device or "-" (standard input), copies it and replaces `input` with the path of
  /// the copy. Other paths, including those of missing files, are kept. `tick` is called for each chunk, and
  /// may throw to stop.
  void copy(std::filesystem::path& input, const std::function<void()>& tick);
  /// Returns `message` with the names of copies replaced by the names of the inputs.
  std::string shown(std::string message) const;

 private:
  std::filesystem::path out_;
  FileSystem& files_;
  std::optional<NewFolder> folder_;
  int copies_ = 0;
};

}  // namespace plimsoll
