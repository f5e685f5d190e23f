#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "config/sections/gat.h"
#include "nn/gat_conv.h"
#include "nn/graph_model.h"
#include "nn/jumping_knowledge.h"

namespace plimsoll {

/// KD-GAT's classifier: an embedding of the ID concatenated with the other features, attention layers with
/// ReLU and dropout, jumping knowledge (Xu et al., ICML 2018), pooling over the nodes of a graph, and a head
/// of linear layers. Parameters: embedding.weight, convs.I.*, with jk "lstm" jk.*, fc.J.weight and .bias,
/// head.weight and .bias.
class GATWithJK : public GraphModel {
 public:
  /// Errors: those of JumpingKnowledge and of ParameterList::add().
  GATWithJK(const GatOptions& options, uint64_t seed);

  at::Tensor embed(const Batch& batch, const DropoutKey& key) const override;
  at::Tensor apply_head(const at::Tensor& embeddings) const override;
  int64_t embedding() const override { return jk_->width(); }
  const ParameterList& parameters() const override { return parameters_; }
  int64_t classes() const override { return options_.classes; }
  FeatureWidths features() const override { return {options_.in_features, options_.edge_features}; }
  const GatOptions& options() const { return options_; }

 private:
  struct Linear {
    at::Tensor weight;
    at::Tensor bias;
  };
  Linear add_linear(const std::string& name, int64_t in, int64_t out);
  at::Tensor inputs(const Batch& batch) const;
  at::Tensor join(const std::vector<at::Tensor>& outputs, const Batch& batch) const;
  at::Tensor run(size_t layer, const at::Tensor& x, const Batch& batch, const DropoutKey& key) const;

  GatOptions options_;
  ParameterList parameters_;
  at::Tensor embedding_;
  std::vector<std::variant<GATConv, GATv2Conv>> convs_;
  std::vector<std::vector<at::Tensor>> layer_parameters_;
  std::optional<JumpingKnowledge> jk_;
  std::vector<Linear> fc_;
  Linear head_;
};

}  // namespace plimsoll
