#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "tasks/relational/relational_data.h"

namespace plimsoll {

/// The table that `relbench.submit` of RelBench 3 accepts for the test split, DATASET__TASK.csv. For each
/// seed, in order, it has the key of the entity, the time and the prediction: the probability of class 1, the
/// value, or a JSON list of the keys of the recommended rows, the best first. DATASET is the name in
/// RelBench's manifest.
class Submission {
 public:
  /// Returns nothing for data that does not come from RelBench, for a task without a test split, and for a
  /// task of several classes or labels, which RelBench does not evaluate. `data` must outlive the result.
  /// Errors: InputError for a damaged manifest.
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
