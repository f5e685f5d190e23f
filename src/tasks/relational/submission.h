#pragma once

#include <filesystem>

#include "tasks/relational/relational_data.h"

namespace plimsoll {

/// Writes `predictions`/DATASET__TASK.csv, the table that `relbench.submit` of RelBench 3 accepts for the
/// split test: the key of the entity, the time and the prediction of each seed, in the order of the seeds. A
/// prediction is the probability of class 1, or the value. DATASET is the name in RelBench's manifest.
///
/// `predictions` is the data set that `plimsoll predict` has written for all seeds of the task. Nothing is
/// written for data of other origin, without a split test, or for a task of several classes, which RelBench
/// does not evaluate. Errors: InputError for damaged columns, Failure (disk).
void write_submission(const std::filesystem::path& predictions, const RelationalData& data);

}  // namespace plimsoll
