#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "engine/model_file/gnn_file.h"
#include "run/evaluation.h"
#include "run/training_data.h"
#include "sample/block/batches.h"

namespace plimsoll {

/// Graphs that a model is judged on.
struct JudgedGraphs {
  std::vector<NamedGraphList> lists;
  std::string notes;               ///< what was left out, and why, in lines for people; empty: nothing
  Json left_out = Json::object();  ///< graphs of each list that were left out
};

/// The graphs that a run's model is judged on, list by list: validation and test graphs if this is the data
/// that trained it, and the splits that do not train; of other data all splits, without what trained or
/// validated the model, by content; the one called `only` alone, unless that is empty. Errors: UsageError
/// where there is no such list; InputError where all of it was left out.
JudgedGraphs lists_to_judge(const TrainingData& data, std::span<const GraphShape> shapes,
                            const Recipe& recipe, const GnnModel& model, const std::string& only);

/// Says in the findings what was left out.
void add_left_out(Findings& findings, const JudgedGraphs& judged);

}  // namespace plimsoll
