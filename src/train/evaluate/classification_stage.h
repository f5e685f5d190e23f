#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "sample/block/batches.h"
#include "sample/block/block.h"
#include "train/evaluate/classification_metrics.h"
#include "train/evaluate/full_neighbours.h"
#include "train/model_file/gnn_file.h"

namespace plimsoll {

/// A model's figures on a list of graphs.
struct ClassificationVerdict {
  std::string name;
  int64_t graphs = 0;
  double loss = 0;
  ClassificationFigures figures;
};

/// Hears the logits [items, classes] of a list, by its place.
using HeardLogits = std::function<void(size_t list, std::span<const float> logits)>;

/// Judges a model on each list; `outside_ledger` as in PlanInput. Errors: BudgetTooSmall; InputError for a
/// label it does not know.
std::vector<ClassificationVerdict> judge_classifier(const BlockSource& source,
                                                    std::span<const GraphShape> shapes, const GnnModel& model,
                                                    const BlockLimits& limits, int threads,
                                                    int64_t outside_ledger,
                                                    const std::vector<NamedGraphList>& lists,
                                                    const HeardLogits& heard = {});

/// Judges a model on nodes of one giant graph from all their neighbours (train/evaluate/full_neighbours.h);
/// each list is a split of the graph. Errors: InputError for a label it does not know, and those of
/// judge_nodes().
std::vector<ClassificationVerdict> judge_nodes_of(const GraphView& graph, DiskTopology& topology,
                                                  const GnnModel& model,
                                                  const std::vector<std::string>& splits,
                                                  const FullNeighbourOptions& options);

/// The mean over items of the loss of training, in double precision; 0 of none.
double mean_cross_entropy(std::span<const float> logits, std::span<const int64_t> labels, int64_t classes);

/// The fields of `evaluate --json` (docs/command-line.md).
Json classification_json(const std::vector<ClassificationVerdict>& verdicts, const std::string& model,
                         int64_t seed);
/// The table for people.
std::string classification_table(const std::vector<ClassificationVerdict>& verdicts);

}  // namespace plimsoll
