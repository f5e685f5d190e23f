#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nn/batch_norm.h"
#include "nn/graph_model.h"
#include "nn/linear.h"
#include "nn/model_options.h"

namespace plimsoll {

/// A graph neural network in the shape of PyG's BasicGNN: layers of one kind of convolution, each followed by
/// normalisation, ReLU and dropout; jumping knowledge; then one linear layer over pooled graphs or over
/// nodes. Parameters: embedding.weight, convs.I.*, norms.I.*, lin.weight, lin.bias. A model of values learns
/// them with mean 0 and scale 1, and judge() gives the values themselves; buffers: target.mean, target.scale.
class Gnn : public GraphModel {
 public:
  /// Errors: UsageError for a word it does not know, or hidden that heads do not divide.
  Gnn(const GnnOptions& options, uint64_t seed);
  ~Gnn() override;

  at::Tensor embed(const Batch& batch, const DropoutKey& key) const override;
  at::Tensor judge(const at::Tensor& embeddings) const override;
  int64_t embedding() const override;
  /// forward() in its parts, for who runs a layer over all of a graph before the next: what the first layer
  /// reads; what layer `layer` makes of what the one before said of the batch's nodes; and embeddings of
  /// nodes, from what those layers of judged() said of them, in order.
  at::Tensor inputs(const Batch& batch) const;
  at::Tensor run_layer(int64_t layer, const at::Tensor& x, const Batch& batch) const;
  at::Tensor join(const std::vector<at::Tensor>& outputs) const;
  /// The layers whose outputs are judged.
  std::vector<int64_t> judged() const;

  const ParameterList& parameters() const override { return parameters_; }
  int64_t classes() const override { return options_.classes; }
  CollateOptions collate_options() const override;
  const GnnOptions& options() const { return options_; }

  FeatureWidths features() const override { return {options_.in_features, options_.edge_features}; }
  TargetUnits target_units() const override { return units_; }

  /// One layer's convolution.
  class Conv;

 private:
  at::Tensor normalise(const at::Tensor& x, size_t layer, const Batch& batch, bool training) const;
  at::Tensor run(size_t layer, const at::Tensor& x, const Batch& batch, const DropoutKey& key) const;

  GnnOptions options_;
  ParameterList parameters_;
  at::Tensor embedding_;
  std::vector<std::unique_ptr<Conv>> convs_;
  std::vector<BatchNorm> batch_norms_;
  struct GraphNorm {
    at::Tensor weight, bias, mean_scale;
  };
  std::vector<GraphNorm> graph_norms_;
  std::vector<std::vector<at::Tensor>> layer_parameters_;
  Linear head_;
  TargetUnits units_;
};

}  // namespace plimsoll
