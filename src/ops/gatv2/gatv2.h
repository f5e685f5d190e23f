#pragma once

#include <utility>

#include "ops/attention/attention.h"

namespace plimsoll {

/// Tensors of a layer of dynamic graph attention. z = x weight^T + weight_bias. target_weight projects the
/// targets, which are rows of x, or of x_target if targets and sources are different nodes. If target_weight
/// is undefined, z_target is z.
struct Gatv2Tensors : AttentionTensors {
  at::Tensor weight_bias;    ///< [H*D], or undefined.
  at::Tensor x_target;       ///< [T, F2]; undefined if targets are the sources.
  at::Tensor target_weight;  ///< [H*D, F or F2], or undefined.
  at::Tensor target_bias;    ///< [H*D], or undefined.
  at::Tensor att;            ///< [H, D].
  at::Tensor edge_weight;    ///< [K, H*D], or undefined.
};

/// The tensors that forward keeps for backward: in x's dtype, z [S, H*D] and z_target [T, H*D] (no rows if
/// backward recomputes them; z_target also has no rows if it is z); in the type of sums, highest [T, H],
/// scale [T, H] and alpha [E (+ T), H] (no rows if not requested).
struct Gatv2Saved {
  at::Tensor z, z_target, highest, scale, alpha;
};

struct Gatv2Output {
  at::Tensor out;  ///< [T, H*D].
  Gatv2Saved saved;
};

/// Gradients; undefined if not requested or if there is no such input. Only `bias` [H*D] is always set, even
/// for a layer without bias.
struct Gatv2InputGradients {
  at::Tensor x, weight, weight_bias, x_target, target_weight, target_bias, att, edge_attr, edge_weight, bias;
};

/// Dynamic graph attention: the kernels of kernels/gatv2/gatv2.h and the matrix products before and after
/// them. Parallel and reproducible like gat_forward(). Errors: those of gat_forward().
Gatv2Output gatv2_forward(const Gatv2Tensors& tensors, const AttentionOptions& options);
Gatv2InputGradients gatv2_backward(const at::Tensor& grad_out, const at::Tensor& grad_alpha,
                                   const Gatv2Tensors& tensors, const Gatv2Saved& saved,
                                   const AttentionOptions& options, bool needs_x, bool needs_edge_attr);

/// Does the same as gatv2_forward(), with gradients: returns (out, alpha). Second derivatives throw
/// UsageError. Errors: those of gat_forward().
std::pair<at::Tensor, at::Tensor> gatv2(const Gatv2Tensors& tensors, const AttentionOptions& options);

}  // namespace plimsoll
