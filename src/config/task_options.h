#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plimsoll {

/// Options of an evaluation that only some tasks have. The module of these tasks derives from it, and adds
/// the options to the verb.
class TaskOptions {
 public:
  virtual ~TaskOptions() = default;

  /// Throws UsageError that names an option, if one was given: the task has none of them.
  virtual void refuse(std::string_view task) const = 0;
  /// Throws UsageError if an output is one of the files that are read: the sources, and inputs among the
  /// options. `run` is the folder of the run.
  virtual void protect(const std::filesystem::path& run,
                       std::vector<std::filesystem::path> sources) const = 0;
  /// Returns the options on which all ranks must agree, by name.
  virtual std::vector<std::pair<std::string, std::string>> facts() const = 0;
};

}  // namespace plimsoll
