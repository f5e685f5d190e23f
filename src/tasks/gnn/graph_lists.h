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

/// The graphs that a model is evaluated on.
struct EvaluatedGraphs {
  std::vector<NamedGraphList> lists;
  std::string notes;               ///< Lines that report what was left out, and why; may be empty.
  Json left_out = Json::object();  ///< Number of graphs left out of each list.
};

/// Returns the graphs that a run's model is evaluated on, list by list. For the data that it was trained on,
/// these are the validation and test graphs, and all splits that were not used for training. For other data
/// they are all splits, without graphs whose content was used to train or validate the model. If `only` is
/// not empty, only the list with that name is returned. Reads all graphs of these splits if the model file
/// records graphs by content. Errors: UsageError if there is no such list; InputError if everything was left
/// out; those of split_for() and of reading blocks.
EvaluatedGraphs lists_to_evaluate(const TrainingData& data, std::span<const GraphShape> shapes,
                                  const Recipe& recipe, const GnnModel& model, const std::string& only);

/// Adds the counts of left-out graphs to the results.
void add_left_out(EvaluationResult& findings, const EvaluatedGraphs& evaluated);

}  // namespace plimsoll
