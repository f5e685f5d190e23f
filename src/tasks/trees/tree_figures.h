#pragma once

#include <span>
#include <string>
#include <vector>

#include "sample/block/batches.h"
#include "telemetry/report.h"

namespace plimsoll {

/// The predictions of a model for some trees.
struct TreePredictions {
  const GraphList& graphs;
  std::span<const float> logits;  ///< F32 [graphs, classes].
  std::vector<std::string> classes;
};

/// Returns drawings of up to `max` trees, taken from each class in turn, seen along the axis of their
/// smallest extent. The colour shows the class; the caption names the class and the prediction. `source` must
/// have coordinates.
std::vector<Report::Figure> tree_figures(const BlockSource& source, std::span<const GraphShape> shapes,
                                         const TreePredictions& predictions, size_t max);

}  // namespace plimsoll
