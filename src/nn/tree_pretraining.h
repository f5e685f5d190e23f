#pragma once

#include "config/sections/pretraining.h"
#include "nn/graph_model.h"
#include "nn/objective.h"

namespace plimsoll {

/// GT-SSL: pretraining on trees in space without labels (arXiv 2408.08799, section 4). The loss of a node is
/// the sum of
///
/// - growth: the earth mover's distance, in bins, between the histogram of distances to the node's children,
///   growth_of(), and the histogram that the model predicts, |x_m| / sum |x|. It is the sum over bins of the
///   difference of the accumulated histograms.
/// - angle, if `angle_bins` is above 0: the same for angles_of().
/// - order_weight * order: embeddings h must not grow, in any component, from a parent p to its child c, and
///   must distinguish a node n from a node u that is neither its ancestor nor its descendant
///   (nn/tree_pairs.h):
///      vendrov  |max(0, h_c - h_p)|^2 + max(0, margin - |max(0, h_n - h_u)|^2)  (Vendrov et al.,
///               "Order-embeddings of images and language", ICLR 2016, eq. 2 and 3)
///      norm     sum max(0, h_c - h_p) + max(0, margin - |h_n - h_u|)
///      squared  sum max(0, h_c - h_p) + max(0, margin - |h_n - h_u|^2)
class TreePretraining : public Objective {
 public:
  /// `model` is a model of nodes whose classes() are the bins of distances, followed by the bins of angles.
  /// It must outlive this object. `range` is the largest distance to children that histograms cover; it is
  /// used instead of options.range. With `baseline`, the last output of forward() is the growth loss of
  /// predicting parent_edge_growth().
  TreePretraining(const GraphModel& model, const PretrainingOptions& options, double range, bool baseline);

  const ParameterList& parameters() const override { return model_.parameters(); }
  CollateOptions collate_options() const override;
  void prepare(Batch& batch) const override;
  int64_t outputs() const override { return 2 + (options_.angle_bins > 0) + baseline_; }
  /// Returns f32 [N, outputs()]: growth and order, then angle if angles are predicted, then the baseline if
  /// it is requested.
  at::Tensor forward(const Batch& batch, const DropoutKey& key) const override;
  at::Tensor losses(const at::Tensor& outputs, const Batch& batch) const override;

 private:
  int64_t distance_bins() const { return model_.classes() - options_.angle_bins; }
  at::Tensor earth_movers(const at::Tensor& up_to, const at::Tensor& expected) const;
  at::Tensor order_loss(const at::Tensor& embeddings, const Batch& batch, const DropoutKey& key) const;

  const GraphModel& model_;
  PretrainingOptions options_;
  double range_;
  bool baseline_;
};

}  // namespace plimsoll
