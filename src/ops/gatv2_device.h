#pragma once

#include "ops/attention_layer.h"
#include "ops/gatv2.h"

namespace plimsoll {

// gatv2_forward() and gatv2_backward() where tensors are on a CUDA device: kernels/attention_cuda.h with its
// products. Work is put on the device's current stream; nothing waits for it. `to` has its tensors already:
// those that forward keeps and gives, and the gradients, of which edge_attr is zeros, as far as they are
// asked for. Errors: UsageError for bf16, Failure in a build without CUDA kernels.

void gatv2_forward_on_device(const Gatv2Tensors& in, const AttentionSizes& sizes,
                             const AttentionOptions& options, Gatv2Output& to);
void gatv2_backward_on_device(const at::Tensor& grad_out, const at::Tensor& grad_alpha,
                              const Gatv2Tensors& in, const AttentionSizes& sizes, const Gatv2Saved& saved,
                              const AttentionOptions& options, Gatv2InputGradients& to);

}  // namespace plimsoll
