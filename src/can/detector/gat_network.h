#pragma once

#include <optional>
#include <vector>

#include "can/detector/gat_layer.h"
#include "can/detector/lstm_knowledge.h"
#include "config/sections/gat.h"
#include "sample/block/block.h"

namespace plimsoll {

/// A trained GATWithJK that scores one graph at a time without torch. Scores equal those of torch up to
/// rounding. Keeps its scratch memory, entered in the ledger, from graph to graph. Not thread-safe.
class GatNetwork {
 public:
  /// Errors: InputError that names the file and what is missing, misshapen or unknown; BudgetExceeded.
  explicit GatNetwork(const SafetensorsView& file);

  /// The log-odds of class 1 of a block of one graph, with config().in_features features per node, the first
  /// of which is the ID index, and at least config().edge_features features per edge. Errors: Failure for an
  /// index that the embedding does not have; BudgetExceeded.
  float score(const GraphBlock& graph);

  /// The attention of the graph that was scored last: [E + N, heads] for a layer. The edges come first, with
  /// 0 for self-loops, then each node's own self-loop.
  std::span<const float> attention(int64_t layer) const;
  const GatOptions& config() const { return config_; }

 private:
  void read_edges(const GraphBlock& graph);
  void embed(const GraphBlock& graph);
  void pool(int64_t nodes);
  int64_t width() const { return config_.heads * config_.hidden; }

  GatOptions config_;
  Vector<float, Tag::parameters> embedding_;
  std::vector<GatLayer> layers_;
  std::optional<LstmKnowledge> lstm_;
  std::vector<PackedLinear> linear_;  // The last one is the head.

  Vector<int64_t, Tag::blocks> ends_;  // Sources, then targets.
  Vector<int32_t, Tag::blocks> order_;
  OrderedEdges edges_;
  Vector<float, Tag::blocks> input_;
  Vector<float, Tag::blocks> outputs_;  // [layers, N, width]
  Vector<float, Tag::blocks> alpha_;    // [layers, E + N, heads]
  Vector<float, Tag::blocks> joined_;
  Vector<float, Tag::blocks> pooled_, next_;
};

}  // namespace plimsoll
