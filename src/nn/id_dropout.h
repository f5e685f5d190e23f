#pragma once

#include <vector>

#include "nn/objective.h"

namespace plimsoll {

/// How an unknown ID is represented: its index, and the columns of node and edge features that are 0 for it.
struct UnknownIds {
  int64_t index = 0;
  std::vector<int64_t> node_columns = {};
  std::vector<int64_t> edge_columns = {};
};

/// ID dropout. In training, a share of the graphs is made to look as if it came from another vehicle: at
/// least four fifths of the IDs, on average, become unknown. For each graph, the exact share is drawn first,
/// and then the nodes whose IDs become unknown. Without ID dropout, a classifier learns to recognise attacks
/// by unknown IDs alone, and then classifies all traffic of an unknown vehicle as an attack.
///
/// Draws depend only on (seed, epoch, index of the graph, index of the node in its graph).
class IdDropout : public Objective {
 public:
  /// `objective` must outlive this object. `share` is the probability that a graph is changed. With `always`,
  /// all IDs of all graphs are dropped, also in prediction.
  IdDropout(const Objective& objective, UnknownIds unknown, double share, bool always = false)
      : objective_(objective), unknown_(std::move(unknown)), share_(share), always_(always) {}

  const ParameterList& parameters() const override { return objective_.parameters(); }
  CollateOptions collate_options() const override;
  void prepare(Batch& batch) const override { objective_.prepare(batch); }
  int64_t outputs() const override { return objective_.outputs(); }
  at::Tensor forward(const Batch& batch, const DropoutKey& key) const override;
  at::Tensor losses(const at::Tensor& outputs, const Batch& batch) const override {
    return objective_.losses(outputs, batch);
  }

 private:
  void draw(const Batch& batch, const DropoutKey& key, uint8_t* dropped) const;
  void drop_on_device(const at::Tensor& drawn, Batch& changed) const;

  const Objective& objective_;
  UnknownIds unknown_;
  double share_;
  bool always_;
};

}  // namespace plimsoll
