#pragma once

#include <utility>

#include "ops/gat/gat.h"

namespace plimsoll {

/// Does the same as gat_forward(), with gradients: returns (out, alpha), differentiable in x, weight,
/// att_source, att_target, target_score, edge_attr, q and bias. alpha has no rows if it is not requested.
/// Second derivatives throw UsageError. Errors: those of gat_forward().
std::pair<at::Tensor, at::Tensor> gat(const GatTensors& tensors, const AttentionOptions& options);

}  // namespace plimsoll
