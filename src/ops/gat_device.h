#pragma once

#include "ops/attention_layer.h"
#include "ops/gat.h"

namespace plimsoll {

// gat_forward() and gat_backward() where tensors are on a CUDA device: kernels/attention_cuda.h with its
// products. Work is put on the device's current stream; nothing waits for it. `to` has its tensors already:
// those that forward keeps and gives, and the gradients, of which edge_attr is zeros, as far as they are
// asked for. Errors: UsageError for bf16, Failure in a build without CUDA kernels.

void gat_forward_on_device(const GatTensors& in, const AttentionSizes& sizes, const AttentionOptions& options,
                           GatOutput& to);
void gat_backward_on_device(const at::Tensor& grad_out, const at::Tensor& grad_alpha, const GatTensors& in,
                            const AttentionSizes& sizes, const GatSaved& saved,
                            const AttentionOptions& options, GatInputGradients& to);

}  // namespace plimsoll
