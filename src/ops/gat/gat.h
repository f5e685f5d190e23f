#pragma once

#include "ops/attention/attention.h"

namespace plimsoll {

/// Tensors of a layer of graph attention.
struct GatTensors : AttentionTensors {
  at::Tensor att_source;    ///< [H, D]
  at::Tensor att_target;    ///< [H, D]; undefined if targets and sources are different nodes.
  at::Tensor target_score;  ///< [T, H], the scores of targets if targets and sources are different nodes;
                            ///< otherwise undefined.
  at::Tensor q;             ///< [K, H], or undefined (kernels/gat/gat.h).
};

/// The tensors that forward keeps for backward: z [S, H*D] in x's dtype (no rows if backward recomputes it)
/// and, in the type of sums, s [S, H], t [T, H], highest [T, H], scale [T, H] and alpha [E (+ T), H] (no rows
/// if not requested).
struct GatSaved {
  at::Tensor z, s, t, highest, scale, alpha;
};

struct GatOutput {
  at::Tensor out;  ///< [T, H*D].
  GatSaved saved;
};

/// Gradients; undefined if not requested or if there is no such input. Only `bias` [H*D] is always set, even
/// for a layer without bias.
struct GatInputGradients {
  at::Tensor x, weight, att_source, att_target, target_score, edge_attr, q, bias;
};

/// Graph attention: the kernels of kernels/gat/gat.h and the matrix products before and after them. Threads
/// process closed pieces or ranges of nodes in parallel. The kernels' results have the same bits for any
/// number of threads. grad_alpha may be undefined. Errors: UsageError for wrong shapes, dtypes or options;
/// InputError for an order with other counts.
GatOutput gat_forward(const GatTensors& tensors, const AttentionOptions& options);
GatInputGradients gat_backward(const at::Tensor& grad_out, const at::Tensor& grad_alpha,
                               const GatTensors& tensors, const GatSaved& saved,
                               const AttentionOptions& options, bool needs_x, bool needs_edge_attr);

}  // namespace plimsoll
