#include "nn/reconstruction.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

namespace plimsoll {

at::Tensor reconstruction_parts(const GraphAutoencoderNeighborhood& model,
                                const GraphAutoencoderNeighborhood::Code& code, const at::Tensor& rebuilt,
                                const Batch& batch, const DropoutKey& key) {
  const at::Tensor features = (rebuilt - batch.x.slice(1, 1)).square().mean(1);
  const at::Tensor divergence = (1 + code.logvar - code.mu.square() - at::exp(code.logvar)).mean(1) * -0.5;
  return at::stack(
      {features, model.id_losses(code.z, batch), model.neighbour_losses(code.z, batch, key), divergence}, 1);
}

at::Tensor weighted(const at::Tensor& parts, const ReconstructionWeights& weights) {
  return parts.select(1, 0) + weights.id * parts.select(1, 1) + weights.neighbours * parts.select(1, 2) +
         weights.divergence * parts.select(1, 3);
}

at::Tensor Reconstruction::forward(const Batch& batch, const DropoutKey& key) const {
  const auto code = model_.encode(batch, key);
  return reconstruction_parts(model_, code, model_.decode(code.z, batch, key), batch, key);
}

at::Tensor Reconstruction::losses(const at::Tensor& outputs, const Batch&) const {
  return weighted(outputs, weights_);
}

}  // namespace plimsoll
