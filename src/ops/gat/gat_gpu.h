#pragma once

#include "ops/attention/attention_layer.h"
#include "ops/gat/gat.h"

namespace plimsoll {

// gat_forward() and gat_backward() for tensors on a CUDA device: the kernels of
// kernels/attention/attention_gpu.h and the matrix products before and after them. Work is put on the
// device's current stream, and the functions do not wait for it. The caller allocates the tensors of `to`:
// those that forward keeps and returns, or the requested gradients. The gradient of edge_attr must be
// initialised to zeros. Errors: UsageError for bf16, Failure in a build without CUDA kernels.

void gat_forward_on_device(const GatTensors& in, const AttentionSizes& sizes, const AttentionOptions& options,
                           GatOutput& to);
void gat_backward_on_device(const at::Tensor& grad_out, const at::Tensor& grad_alpha, const GatTensors& in,
                            const AttentionSizes& sizes, const GatSaved& saved,
                            const AttentionOptions& options, GatInputGradients& to);

}  // namespace plimsoll
