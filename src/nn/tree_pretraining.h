#pragma once

#include <string>

#include "nn/graph_model.h"
#include "nn/objective.h"

namespace plimsoll {

struct TreePretrainingOptions {
  double range = 10;              ///< Largest distance to children that histograms cover.
  int64_t angle_bins = 0;         ///< Bins for angles to children; 0: angles are not learned.
  bool leaves = true;             ///< Nodes without children count in the growth loss.
  std::string order = "vendrov";  ///< vendrov | norm | squared.
  double order_weight = 1;
  double margin = 1;
  bool baseline = false;  ///< Add a last output to forward(): the growth loss of parent_edge_growth().
};

/// GT-SSL, pretraining on trees in space without labels (arXiv 2408.08799, section 4). The loss of a node is
/// the sum of
///
/// - growth: the earth mover's distance between the histogram of distances to its children, growth_of(), and
/// the
///   histogram that the model predicts, |x_m| / sum |x|: the sum over bins of the difference of the
///   accumulated histograms, in bins.
/// - angle, if `angle_bins` is above 0: the same for angles_of().
/// - order_weight * order: embeddings h must not grow, in any number, from a parent p to its child c, and
/// must
///   distinguish a node n from a node u that is neither above nor below it (nn/tree_pairs.h):
///      vendrov  |max(0, h_c - h_p)|^2 + max(0, margin - |max(0, h_n - h_u)|^2)  (Vendrov et al.,
///               "Order-embeddings of images and language", ICLR 2016, eq. 2 and 3)
///      norm     sum max(0, h_c - h_p) + max(0, margin - |h_n - h_u|)
///      squared  sum max(0, h_c - h_p) + max(0, margin - |h_n - h_u|^2)
class TreePretraining : public Objective {
 public:
  /// `model` is a model of nodes whose classes() are the bins of distances, then those of angles. It must
  /// outlive this. Errors: UsageError for an unknown `order`.
  TreePretraining(const GraphModel& model, TreePretrainingOptions options);

  const ParameterList& parameters() const override { return model_.parameters(); }
  CollateOptions collate_options() const override;
  void prepare(Batch& batch) const override;
  int64_t outputs() const override { return 2 + (options_.angle_bins > 0) + options_.baseline; }
  /// Returns f32 [N, outputs()]: growth and order, then angle if it is learned, then the baseline if it is
  /// asked for.
  at::Tensor forward(const Batch& batch, const DropoutKey& key) const override;
  at::Tensor losses(const at::Tensor& outputs, const Batch& batch) const override;

 private:
  int64_t distance_bins() const { return model_.classes() - options_.angle_bins; }
  at::Tensor earth_movers(const at::Tensor& up_to, const at::Tensor& expected) const;
  at::Tensor order_loss(const at::Tensor& embeddings, const Batch& batch, const DropoutKey& key) const;

  const GraphModel& model_;
  TreePretrainingOptions options_;
};

}  // namespace plimsoll
