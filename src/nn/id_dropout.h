#pragma once

#include <vector>

#include "nn/objective.h"

namespace plimsoll {

/// What an ID that is not known looks like: its index, and the columns of nodes and edges that are 0 then.
struct UnknownIds {
  int64_t index = 0;
  std::vector<int64_t> node_columns = {};
  std::vector<int64_t> edge_columns = {};
};

/// ID dropout: in training a share of the graphs looks as if it came from another vehicle, of which four
/// fifths of the IDs or more are unknown (how many is drawn for each graph, and which). A detector that has
/// "unknown" among its inputs learns nothing else, and calls all traffic of an unknown vehicle an attack;
/// this one must find another reason.
///
/// Graphs and nodes are drawn by (seed, epoch, index of the graph, number of the node).
class IdDropout : public Objective {
 public:
  /// `objective` must outlive it. `always`: in prediction as well, and then all IDs of all graphs.
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
  void drop_there(const at::Tensor& drawn, Batch& changed) const;

  const Objective& objective_;
  UnknownIds unknown_;
  double share_;
  bool always_;
};

}  // namespace plimsoll
