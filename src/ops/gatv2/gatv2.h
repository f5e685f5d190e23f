#pragma once

#include <utility>

#include "ops/attention/attention.h"

namespace plimsoll {

/// Tensors of a layer of dynamic graph attention. z = x weight^T + weight_bias. target_weight
/// projects the targets: rows of x, or of x_target if the targets are not the source nodes. Without
/// target_weight, z_target is z.
struct Gatv2Tensors : AttentionTensors {
  at::Tensor weight_bias;    ///< [H*D], or undefined.
  at::Tensor x_target;       ///< [T, F2]; undefined if targets are the sources.
  at::Tensor target_weight;  ///< [H*D, F or F2], or undefined.
  at::Tensor target_bias;    ///< [H*D], or undefined.
  at::Tensor att;            ///< [H, D].
  at::Tensor edge_weight;    ///< [K, H*D], or undefined.
};

/// The tensors that forward keeps for backward, z in x's dtype and scores in the type of sums: z [S, H*D] and
/// z_target [T, H*D] (no rows if they are computed again, and no rows of z_target if it is z), highest [T,
/// H], scale [T, H]; alpha [E (+ T), H] if requested, otherwise no rows.
struct Gatv2Saved {
  at::Tensor z, z_target, highest, scale, alpha;
};

struct Gatv2Output {
  at::Tensor out;  ///< [T, H*D].
  Gatv2Saved saved;
};

/// Gradients; undefined if not requested or if there is no such input.
struct Gatv2InputGradients {
  at::Tensor x, weight, weight_bias, x_target, target_weight, target_bias, att, edge_attr, edge_weight, bias;
};

/// Dynamic graph attention: the kernels of kernels/gatv2/gatv2.h and the products around them; parallel and
/// reproducible like gat_forward().
Gatv2Output gatv2_forward(const Gatv2Tensors& tensors, const AttentionOptions& options);
Gatv2InputGradients gatv2_backward(const at::Tensor& grad_out, const at::Tensor& grad_alpha,
                                   const Gatv2Tensors& tensors, const Gatv2Saved& saved,
                                   const AttentionOptions& options, bool needs_x, bool needs_edge_attr);

/// Does the same as gatv2_forward(), with gradients: returns (out, alpha). Second derivatives are refused.
std::pair<at::Tensor, at::Tensor> gatv2(const Gatv2Tensors& tensors, const AttentionOptions& options);

}  // namespace plimsoll
