#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nn/edge_type_conv.h"
#include "nn/graph_model.h"
#include "nn/hgt_conv.h"
#include "nn/linear.h"
#include "nn/reached_scores.h"

namespace plimsoll {

/// The structure of a Hetero model. The types are those that samples around its seeds can have, in the order
/// of the batch.
struct HeteroOptions {
  struct NodeType {
    std::string name;
    int64_t numbers = 0;
    std::vector<int64_t> vocabularies = {};  ///< Number of codes in each column of codes.
    int64_t first_hop = 0;                   ///< The first hop in which nodes of this type occur.
  };
  struct EdgeType {
    std::string name;  ///< SOURCE___NAME___TARGET
    int64_t source = 0, target = 0;
    int64_t first_hop = 1;
  };
  std::vector<NodeType> nodes;
  std::vector<EdgeType> edges;
  int64_t seeds = 0;  ///< The node type of the seeds.
  int64_t layers = 2;
  int64_t channels = 64;
  RelationalLayer layer = RelationalLayer::sage;
  int64_t bases = 8;           ///< Shared matrices of each layer, for relational GCN.
  int64_t heads = 4;           ///< Heads of gatv2 and hgt; a divisor of `channels`.
  bool mean = false;           ///< Whether layers use the mean over neighbours instead of the sum.
  bool mean_of_types = false;  ///< Whether layers use the mean over edge types instead of the sum.
  double dropout = 0;          ///< Probability with which training drops a number that a layer computes.
  int64_t outputs = 2;
  bool values = false;  ///< Whether outputs are values instead of logits of classes.
  /// For a recommendation, whose outputs are the scores of all nodes of a type: that node type, if samples
  /// can have its nodes (SampleLayout::destinations).
  std::optional<size_t> destinations = {};
};

/// A network for samples with node types and edge types, one output per seed:
///
/// - an encoder for each node type: a linear layer over its numbers, plus an embedding for each column of
/// codes, then a residual block of two linear layers with layer normalisation, as in RelBench's baseline
/// (Robinson et al., "RelBench", 2024);
/// - layers. For each edge type: the messages of EdgeTypeConv. The sum or mean over all edge types into a
/// node type is added to a linear layer of the nodes themselves. Or, for all edge types into a node type:
/// HgtConv. Layer normalisation, ReLU and dropout follow. A layer computes only the nodes that later layers
/// read;
/// - a linear layer over the seeds. For a recommendation, its rows are the embeddings of the nodes that can
/// be recommended. Nodes that the sample of a seed reaches have another score, which is added
/// (ReachedScores).
///
/// Parameters: encoders.TYPE.lin.*, encoders.TYPE.embeddings.I.weight, encoders.TYPE.lin1.*, .norm1.*,
/// .lin2.*, .norm2.*; convs.L.convs.EDGE_TYPE.*, as PyTorch Geometric's HeteroConv names them;
/// convs.L.bases [bases, channels, channels] of relational GCN; convs.L.roots.TYPE.weight; of HGT instead
/// those of HgtConv with the prefix convs.L; norms.L.TYPE.*; head.*. Buffers of a model of values:
/// target.mean, target.scale. Backward does not recompute layers.
class Hetero final : public GraphModel {
 public:
  Hetero(const HeteroOptions& options, uint64_t seed);

  at::Tensor forward(const Batch& batch, const DropoutKey& key) const override;
  /// The output for a seed is apply_head(embed()) only without HeteroOptions::destinations.
  at::Tensor embed(const Batch& batch, const DropoutKey& key) const override;
  at::Tensor apply_head(const at::Tensor& embeddings) const override;
  int64_t embedding() const override { return options_.channels; }
  const ParameterList& parameters() const override { return parameters_; }
  int64_t classes() const override { return options_.outputs; }
  FeatureWidths features() const override { return {}; }
  CollateOptions collate_options() const override { return {.layers = options_.layers}; }
  TargetUnits target_units() const override { return units_; }

 private:
  struct Norm {
    at::Tensor weight, bias;
    at::Tensor forward(const at::Tensor& x) const;
  };
  struct Encoder {
    Linear lin, lin1, lin2;
    std::vector<at::Tensor> embeddings;
    Norm norm1, norm2;
  };
  // The part of a layer that computes one node type; empty if the layer does not compute the type.
  struct Target {
    Norm norm;
    std::vector<size_t> edges;        // Edge types whose target is this node type.
    Linear root;                      // Undefined for HGT.
    std::vector<EdgeTypeConv> convs;  // One per edge type; none for HGT.
    std::optional<HgtConv> hgt;
  };

  Norm make_norm(const std::string& prefix);
  Encoder make_encoder(const HeteroOptions::NodeType& type);
  std::vector<Target> make_layer(int64_t layer);
  std::vector<size_t> edges_into(size_t type, int64_t hops) const;
  void add_convs(int64_t layer, const at::Tensor& bases, const std::string& type, Target& target);
  void add_hgt(int64_t layer, const std::string& type, std::vector<std::optional<HgtSource>>& sources,
               Target& target);
  void make_reached();
  std::vector<at::Tensor> encode(const TypedBatch& batch) const;
  std::vector<at::Tensor> run(size_t layer, const std::vector<at::Tensor>& h, const Batch& batch,
                              const DropoutKey& key) const;
  at::Tensor encode(size_t type, const TypedBatch& batch) const;
  at::Tensor run(size_t layer, size_t type, const std::vector<at::Tensor>& h, const Batch& batch,
                 const DropoutKey& key) const;
  at::Tensor convolve(const Target& target, const std::vector<at::Tensor>& h, const at::Tensor& self,
                      const std::vector<at::Tensor>& orders) const;
  at::Tensor activate(const at::Tensor& x, size_t layer, size_t type, const Batch& batch,
                      const DropoutKey& key) const;

  HeteroOptions options_;
  ParameterList parameters_;
  std::vector<Encoder> encoders_;
  std::vector<std::vector<Target>> layers_;  // [layers][node types]
  Linear head_;
  std::optional<ReachedScores> reached_;
  TargetUnits units_;
};

}  // namespace plimsoll
