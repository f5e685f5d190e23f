#pragma once

#include <span>
#include <string>
#include <vector>

#include "sample/block/batches.h"
#include "telemetry/report.h"

namespace plimsoll {

/// What a model has said of trees.
struct SaidOfTrees {
  const GraphList& graphs;
  std::span<const float> logits;  ///< [graphs, classes]
  std::vector<std::string> classes;
};

/// Drawings of up to `most` trees, of each class in turn, seen along the axis of their least extent: the
/// colour is that of the class, the caption says it and what the model says. `source` has coordinates.
std::vector<Report::Figure> tree_figures(const BlockSource& source, std::span<const GraphShape> shapes,
                                         const SaidOfTrees& said, size_t max);

}  // namespace plimsoll
