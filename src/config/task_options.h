#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plimsoll {

/// Options of an evaluation that only some tasks have. The module of these tasks derives a class from this
/// one and adds the options to the verb.
class TaskOptions {
 public:
  virtual ~TaskOptions() = default;

  /// Throws a UsageError that names an option, if any of these options was given, because `task` has none of
  /// them.
  virtual void refuse(std::string_view task) const = 0;
  /// Throws UsageError if an output is also an input: one of the sources, or an input file among the options.
  /// `run` is the folder of the run.
  virtual void protect(const std::filesystem::path& run,
                       std::vector<std::filesystem::path> sources) const = 0;
  /// Returns the names and values of the options on which all ranks must agree.
  virtual std::vector<std::pair<std::string, std::string>> facts() const = 0;
};

}  // namespace plimsoll
