#include "nn/reached_scores.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <utility>

#include "ops/module_scope.h"

namespace plimsoll {

ReachedScores::ReachedScores(ParameterList& parameters, int64_t channels, std::vector<EdgeType> edges)
    : edges_(std::move(edges)) {
  root_ = Linear(parameters, "reached.root", channels, channels, /*bias=*/false);
  for (const EdgeType& type : edges_)
    convs_.emplace_back(parameters, "reached.convs." + type.name,
                        EdgeTypeConvOptions{.layer = RelationalLayer::sage, .channels = channels},
                        at::Tensor());
  norm_weight_ = parameters.add("reached.norm.weight", {channels}, Init::constant(1));
  norm_bias_ = parameters.add("reached.norm.bias", {channels}, Init::zeros());
  out_ = Linear(parameters, "reached.out", channels, 1);
  counts_ = Linear(parameters, "reached.counts", std::ssize(edges_), 1, /*bias=*/false);
}

// Edge types are added in a fixed order, so that the sum always has the same bits.
at::Tensor ReachedScores::scores_of(const at::Tensor& encoded, const std::vector<at::Tensor>& layer,
                                    const TypedBatch& batch) const {
  at::Tensor h = root_.forward(encoded);
  for (size_t i = 0; i < edges_.size(); ++i)
    h = h + convs_[i].forward(layer[edges_[i].target], encoded, batch.reached_orders[edges_[i].number]);
  h = at::relu(at::layer_norm(h, {h.size(1)}, norm_weight_, norm_bias_, 1e-5));
  return (out_.forward(h) + counts_.forward(batch.reached_counts)).view({h.size(0)});
}

// The place after all scores receives those of padding.
at::Tensor ReachedScores::add(const at::Tensor& scores, const at::Tensor& encoded,
                              const std::vector<at::Tensor>& layer, const TypedBatch& batch) const {
  const ModuleScope scope("reached");
  const at::Tensor reached = at::zeros({scores.numel() + 1}, scores.options())
                                 .index_add(0, batch.reached, scores_of(encoded, layer, batch));
  return scores + reached.narrow(0, 0, scores.numel()).view(scores.sizes());
}

}  // namespace plimsoll
