#include "nn/reconstruction_errors.h"

#include <ATen/TensorOperators.h>

#include "nn/reconstruction.h"
#include "ops/segment/segment.h"

namespace plimsoll {

at::Tensor ReconstructionErrors::forward(const Batch& batch, const DropoutKey& key) const {
  const auto code = model_.encode(batch, key);
  const at::Tensor parts = reconstruction_parts(model_, code, model_.decode(code.z, batch, key), batch, key);
  return segment_reduce(parts.narrow(1, 0, outputs()), batch.graph_ptr, Reduce::mean);
}

at::Tensor ReconstructionErrors::losses(const at::Tensor& outputs, const Batch&) const {
  return outputs.select(1, 0) + ReconstructionWeights().id * outputs.select(1, 1);
}

}  // namespace plimsoll
