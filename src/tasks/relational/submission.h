#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "tasks/relational/relational_data.h"

namespace plimsoll {

/// The table that `relbench.submit` of RelBench 3 accepts for the split test, DATASET__TASK.csv: the key of
/// the entity, the time and the prediction of each seed, in the order of the seeds. A prediction is the
/// probability of class 1, or the value. DATASET is the name in RelBench's manifest.
class Submission {
 public:
  /// Returns nothing for data of other origin, without a split test, or for a task of several classes, which
  /// RelBench does not evaluate. `data` must outlive it. Errors: InputError for a damaged manifest.
  static std::optional<Submission> of(const RelationalData& data);

  /// Writes the table next to the predictions that `plimsoll predict` has written for all seeds of the task.
  /// Errors: InputError for damaged columns, Failure (disk).
  void write(const std::filesystem::path& predictions) const;

 private:
  Submission(const RelationalData& data, const TaskSeeds::Split& test);

  const RelationalData& data_;
  const TaskSeeds::Split& test_;
  std::string name_, header_;
};

}  // namespace plimsoll
