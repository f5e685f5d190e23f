#pragma once

#include <string>
#include <vector>

#include "config/sections/paths.h"
#include "nn/batch_norm.h"
#include "nn/graph_model.h"
#include "nn/linear.h"
#include "nn/path_conv.h"

namespace plimsoll {

/// Networks over paths i -> j -> k -> p of nodes that have coordinates. Rotation and translation do not
/// change their outputs. The networks are SGMP (Zhang and Zhao, "Representation Learning on Spatial
/// Networks", NeurIPS 2021), and GTMP for trees (arXiv 2408.08799), which differs in its pooling. Both have
/// an embedding of features, interactions that add messages to the embedding (nn/path_conv.h), and a head of
/// two linear layers. SGMP sums the nodes of a graph before the head; GTMP sums them between the layers of
/// the head. Both can also be models of nodes. With spanning_trees, the model is SGMP-st of the paper on
/// SGMP. Parameters have the names of SGMP's code: embedding.{0, 2}.*, interactions.I.*, lin1.*, lin2.*.
/// There are also norms.I.* if nodes are normalised, target.mean and target.scale for a model of values, and
/// features.mean and features.scale if it standardises features.
class Sgmp : public GraphModel {
 public:
  /// Errors: those of ParameterList::add().
  Sgmp(const SgmpOptions& options, uint64_t seed);

  at::Tensor embed(const Batch& batch, const DropoutKey& key) const override;
  at::Tensor apply_head(const at::Tensor& embeddings) const override;
  int64_t embedding() const override { return options_.hidden / 2; }
  const ParameterList& parameters() const override { return parameters_; }
  int64_t classes() const override { return options_.classes; }
  FeatureWidths features() const override { return {options_.in_features, {}}; }
  CollateOptions collate_options() const override;
  TargetUnits target_units() const override { return units_; }
  FeatureUnits feature_units() const override { return feature_units_; }
  const SgmpOptions& options() const { return options_; }

 private:
  PathEdges edges_of(const Batch& batch, const DropoutKey& key, uint32_t tree) const;
  at::Tensor inputs(const Batch& batch) const;
  at::Tensor head(const at::Tensor& rows) const;
  at::Tensor embed_paths(const Batch& batch, const PathEdges& found, bool training) const;

  SgmpOptions options_;
  PathOptions paths_;
  PathDirection direction_;
  ParameterList parameters_;
  Linear embedding_first_;
  Linear embedding_second_;
  std::vector<PathConv> interactions_;
  std::vector<BatchNorm> norms_;  // One per interaction; empty if nodes are not normalised.
  // The biases of lin1 and lin2 are initially 0.
  at::Tensor weight1_, bias1_, weight2_, bias2_;
  TargetUnits units_;
  FeatureUnits feature_units_;
};

}  // namespace plimsoll
