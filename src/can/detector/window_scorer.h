#pragma once

#include <array>

#include "can/detector/detector_file.h"
#include "can/detector/gat_network.h"
#include "can/score/profile_statistics.h"
#include "sample/block/feature_selection.h"

namespace plimsoll {

/// Scores the graph of one window at a time with a trained detector. The graph must have all columns of its
/// feature set. Not thread-safe.
class WindowScorer {
 public:
  /// `tables` are those of the graphs. Errors: InputError if the model needs graphs with other features;
  /// BudgetExceeded.
  WindowScorer(const DetectorFile& model, const GraphSetTables& tables);

  /// The log-odds of an attack of a block of one graph, with the evidence of unknown IDs if the model counts
  /// them apart. Removes from the graph the columns that are hidden from the model, so score a graph only
  /// once. Errors: those of GatNetwork::score().
  float log_odds(GraphBlock& graph);
  /// The parts of a fused score (can/detector/fusion.h), from a behaviour graph and the statistics of its
  /// frames. The autoencoder's part is NaN. Removes columns as log_odds() does. `own_profile` is defined at
  /// profile_statistics(). The result is valid until the next call.
  std::span<const float> parts(GraphBlock& graph, const FrameStatistics& frames, bool own_profile);
  const GatNetwork& network() const { return network_; }

 private:
  KeptColumns node_columns_;
  KeptColumns edge_columns_;
  GatNetwork network_;
  bool unknown_ids_apart_;
  float unknown_index_;
  std::array<float, kFusedParts> parts_;
};

}  // namespace plimsoll
