#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/sections/gnn.h"
#include "nn/batch_norm.h"
#include "nn/graph_model.h"
#include "nn/linear.h"
#include "nn/neighbour_sum.h"

namespace plimsoll {

/// A graph neural network with the structure of PyG's BasicGNN: layers of one kind of convolution, each
/// followed by normalisation, ReLU and dropout; jumping knowledge; then one linear layer over pooled graphs
/// or over nodes. Parameters: embedding.weight, convs.I.*, norms.I.*, lin.weight, lin.bias. A model of values
/// is trained on values with mean 0 and scale 1; apply_head() returns values in the units of the data.
/// Buffers: target.mean and target.scale for a model of values, features.mean and features.scale if it
/// standardises features, and those of BatchNorm.
class Gnn : public GraphModel {
 public:
  /// Errors: UsageError if the convolution is attention and `hidden` is not a multiple of heads; those of
  /// ParameterList::add().
  Gnn(const GnnOptions& options, uint64_t seed);
  ~Gnn() override;

  at::Tensor embed(const Batch& batch, const DropoutKey& key) const override;
  at::Tensor apply_head(const at::Tensor& embeddings) const override;
  int64_t embedding() const override;
  /// The parts of forward(), for callers that run each layer over the whole graph before the next layer.
  /// inputs() returns the input of the first layer. run_layer() computes the output of layer `layer`, counted
  /// from 0, for the batch's nodes from the output of the previous layer, in evaluation. join() computes the
  /// embeddings of nodes from the outputs of the layers of embedding_layers(), in order.
  at::Tensor inputs(const Batch& batch) const;
  at::Tensor run_layer(int64_t layer, const at::Tensor& x, const Batch& batch) const;
  /// The parts of run_layer() for one node whose edges are processed in chunks (nn/neighbour_sum.h). The node
  /// is row 0 of x and the only target of the chunk. The chunk has no self-loops if collate_options() leaves
  /// them out. finish_layer() returns the node's output, [1, hidden]; any of the chunks may be passed to it.
  NeighbourSum sum_neighbours(int64_t layer, const at::Tensor& x, const Batch& chunk) const;
  at::Tensor finish_layer(int64_t layer, const NeighbourSum& sum, const at::Tensor& x,
                          const Batch& chunk) const;
  at::Tensor join(const std::vector<at::Tensor>& outputs) const;
  /// Returns the layers, counted from 0, whose outputs form the embedding.
  std::vector<int64_t> embedding_layers() const;

  const ParameterList& parameters() const override { return parameters_; }
  int64_t classes() const override { return options_.classes; }
  CollateOptions collate_options() const override;
  const GnnOptions& options() const { return options_; }
  /// Makes the optimizer skip rows of the embedding that have no gradient in a step. Call it if the rows
  /// belong to nodes, not to IDs.
  void embed_nodes() { parameters_.make_lazy("embedding.weight"); }

  FeatureWidths features() const override { return {options_.in_features, options_.edge_features}; }
  TargetUnits target_units() const override { return units_; }
  FeatureUnits feature_units() const override { return feature_units_; }

  /// The convolution of one layer.
  class Conv;

 private:
  at::Tensor normalise(const at::Tensor& x, size_t layer, const Batch& batch, bool training) const;
  at::Tensor activate(at::Tensor h, size_t layer, const Batch& batch, const DropoutKey& key) const;
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
  FeatureUnits feature_units_;
};

}  // namespace plimsoll
