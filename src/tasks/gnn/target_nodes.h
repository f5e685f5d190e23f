#pragma once

#include <string>
#include <vector>

#include "engine/model_file/gnn_file.h"
#include "engine/predict/full_neighbours.h"
#include "memory/vector.h"
#include "sample/seeds/seed_lists.h"
#include "store/graph.h"

namespace plimsoll {

/// The nodes of some splits of one giant graph that have at least one known number or label to predict, and a
/// model's outputs for them.
struct PredictedTargets {
  struct List {
    std::string name;  ///< Name of the split.
    size_t first = 0;  ///< Index of its first node.
    size_t count = 0;

    /// Returns the rows of this split in a table with `width` numbers per node.
    std::span<const float> rows(std::span<const float> table, int64_t width) const {
      const auto numbers = static_cast<size_t>(width);
      return table.subspan(first * numbers, count * numbers);
    }
  };
  std::vector<List> lists;
  Vector<int64_t, Tag::columns> nodes;
  Vector<float, Tag::columns> targets;  ///< [nodes, width], NaN if unknown.
  Vector<float, Tag::columns> outputs;  ///< [nodes, width].
  int64_t width = 0;                    ///< Numbers or labels per node.
};

/// Predicts the nodes of splits from all their neighbours (engine/predict/full_neighbours.h). `splits` has
/// names from kGraphSplits. In a rehearsal the outputs are meaningless. Errors: InputError if nodes have no
/// numbers to predict, or if the model has another number of outputs; those of has_known_target() and
/// predict_nodes().
PredictedTargets predict_target_nodes(const GraphView& graph, DiskTopology& topology, const GnnModel& model,
                                      const std::vector<std::string>& splits, NodeLabels labels,
                                      const FullNeighbourOptions& options);

}  // namespace plimsoll
