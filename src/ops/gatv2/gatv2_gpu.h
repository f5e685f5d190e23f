#pragma once

#include "ops/attention/attention_layer.h"
#include "ops/gatv2/gatv2.h"

namespace plimsoll {

// gatv2_forward() and gatv2_backward() for tensors on a CUDA device: the kernels of
// kernels/attention/attention_gpu.h and the matrix products before and after them. Work is put on the
// device's current stream, and the functions do not wait for it. The caller allocates the tensors of `to`:
// those that forward keeps and returns, or the requested gradients. The gradient of edge_attr must be
// initialised to zeros. Errors: UsageError for bf16, Failure in a build without CUDA kernels.

void gatv2_forward_on_device(const Gatv2Tensors& in, const AttentionSizes& sizes,
                             const AttentionOptions& options, Gatv2Output& to);
void gatv2_backward_on_device(const at::Tensor& grad_out, const at::Tensor& grad_alpha,
                              const Gatv2Tensors& in, const AttentionSizes& sizes, const Gatv2Saved& saved,
                              const AttentionOptions& options, Gatv2InputGradients& to);

}  // namespace plimsoll
