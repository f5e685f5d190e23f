#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace plimsoll {

/// One layer of a network: [N, in] -> [N, out], the same bits each time it is called, from any thread.
using Layer = std::function<at::Tensor(const at::Tensor& x)>;

/// Runs a layer. With `recompute` nothing but x and what `layer` holds is kept for backward, which runs the
/// layer again when it comes to it (gradient checkpointing: Chen et al., "Training Deep Nets with Sublinear
/// Memory Cost", 2016), on the thread that asked for gradients. Gradients are the same bits with and without.
///
/// `parameters`: all tensors but x that need gradients and that the layer uses; leaves that nothing outside
/// the layer uses. Errors: those of the layer, out of backward too; UsageError for second derivatives of a
/// layer that was recomputed.
at::Tensor run_layer(const Layer& layer, const at::Tensor& x, const std::vector<at::Tensor>& parameters,
                     bool recompute);

}  // namespace plimsoll
