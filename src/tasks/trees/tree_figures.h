#pragma once

#include <span>
#include <string>
#include <vector>

#include "sample/block/batches.h"
#include "telemetry/report.h"

namespace plimsoll {

/// The predictions of a model for some trees.
struct TreePredictions {
  const GraphList& graphs;           ///< Trees with a class and at least one node.
  std::span<const float> logits;     ///< [graphs, classes]
  std::vector<std::string> classes;  ///< Names of the classes by number.
};

/// Returns drawings of up to `max` trees, taken from each class in turn, seen along the axis of their
/// smallest extent. The colour shows the class; the caption names the class and the prediction. `source` must
/// have coordinates, and parents must have lower numbers than their children. Errors: those of source.read().
std::vector<Report::Figure> tree_figures(const BlockSource& source, std::span<const GraphShape> shapes,
                                         const TreePredictions& predictions, size_t max);

}  // namespace plimsoll
