#include "nn/link_prediction.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

namespace plimsoll {

CollateOptions LinkPrediction::collate_options() const {
  CollateOptions options = model_.collate_options();
  options.items = Items::pairs;
  return options;
}

at::Tensor LinkPrediction::forward(const Batch& batch, const DropoutKey& key) const {
  const at::Tensor embeddings = model_.forward(batch, key);
  // Both ends are gathered at once, so that there is only one gradient of all embeddings.
  const std::vector<at::Tensor> ends = embeddings.index_select(0, batch.pairs.view(-1))
                                           .view({2, batch.item_count, embeddings.size(1)})
                                           .unbind(0);
  return (ends[0] * ends[1]).sum(1, /*keepdim=*/true);
}

at::Tensor LinkPrediction::losses(const at::Tensor& scores, const Batch& batch) const {
  // The loss is log(1 + exp(-s)) for an edge, and log(1 + exp(s)) for a pair without one.
  return at::softplus(scores.squeeze(1) * (1 - 2 * batch.y));
}

}  // namespace plimsoll
