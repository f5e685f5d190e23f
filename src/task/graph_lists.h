#pragma once

#include <span>
#include <string>
#include <vector>

#include "sample/block/batches.h"
#include "task/training_data.h"
#include "train/model_file/gnn_file.h"

namespace plimsoll {

/// The graphs that a run's model is judged on, list by list: validation and test graphs if this is the data
/// that trained it, and the splits that do not train; the one called `only` alone, unless that is empty.
/// Errors: UsageError where there is no such list.
std::vector<NamedGraphList> lists_to_judge(const TrainingData& data, std::span<const GraphShape> shapes,
                                           const Recipe& recipe, const GnnModel& model,
                                           const std::string& only);

}  // namespace plimsoll
