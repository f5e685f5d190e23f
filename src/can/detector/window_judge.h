#pragma once

#include <array>

#include "can/detector/detector_file.h"
#include "can/detector/gat_network.h"
#include "can/score/profile_statistics.h"
#include "sample/block/feature_selection.h"

namespace plimsoll {

/// A trained detector on one window's graph at a time, with all columns of its feature set. Not thread-safe.
class WindowJudge {
 public:
  /// `tables`: of the graphs. Errors: InputError where the model reads other graphs; BudgetExceeded.
  WindowJudge(const DetectorFile& model, const GraphSetTables& tables);

  /// The log-odds of an attack; takes from the graph the columns that the model does not see.
  float log_odds(GraphBlock& graph);
  /// The parts of a fused score (can/detector/fusion.h), of behaviour graphs and what their frames say;
  /// likewise. `own_profile`: as profile_statistics().
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
