#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace plimsoll {

/// One layer of a network, [N, in] to [N, out]. It must give the same bits each time it is called, from any
/// thread.
using Layer = std::function<at::Tensor(const at::Tensor& x)>;

/// Runs a layer. With `recompute`, only x and the tensors that `layer` itself holds are kept for backward,
/// which runs the layer again on the thread that requested gradients (gradient checkpointing: Chen et al.,
/// "Training Deep Nets with Sublinear Memory Cost", 2016). Gradients have the same bits with and without
/// `recompute`.
///
/// `parameters` are all tensors, except x, that the layer uses and that need gradients. They must be leaves
/// that are not used outside the layer. Errors: those of the layer, in forward and backward; UsageError for
/// second derivatives of a layer that was recomputed.
at::Tensor run_layer(const Layer& layer, const at::Tensor& x, const std::vector<at::Tensor>& parameters,
                     bool recompute);

}  // namespace plimsoll
