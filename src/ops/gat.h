#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/Optional.h>

#include <string>
#include <tuple>

namespace plimsoll {

/// Edges by target, as attention reads them (kernels/edge_order.h): i32, one dimension. edge_index is i64 [2,
/// E], sources above targets. With `same_nodes` sources and targets are the same nodes. Errors: UsageError,
/// InputError.
at::Tensor edge_order(const at::Tensor& edge_index, int64_t sources, int64_t targets, bool same_nodes,
                      bool drop_loops);

/// What a call of gat() computes, apart from tensors.
struct GatOptions {
  int64_t heads = 1;
  double slope = 0.2;         ///< of LeakyReLU
  bool loops = false;         ///< add a self-loop to every target
  std::string fill = "mean";  ///< edge features of added self-loops: zero | mean | value
  double fill_value = 0;
  double dropout = 0;           ///< of attention weights
  bool keep_projection = true;  ///< keep z for backward (S1); else it is computed again (S2)
  bool return_attention = false;
};

/// Tensors of a layer of graph attention; f32 or f64 alike, contiguous. S sources, T targets, E edges, H
/// heads of D channels, K edge features.
struct GatTensors {
  at::Tensor x;             ///< [S, F]
  at::Tensor weight;        ///< [H*D, F]
  at::Tensor att_source;    ///< [H, D]
  at::Tensor att_target;    ///< [H, D] where targets are the sources; else undefined, and
  at::Tensor target_score;  ///< [T, H] what it would give
  at::Tensor order;         ///< edge_order()
  at::Tensor edge_attr;     ///< [E, K], or undefined
  at::Tensor q;             ///< [K, H], or undefined
  at::Tensor bias;          ///< [H*D], or undefined
  at::Tensor seed;          ///< i64 [3]: seed, layer, epoch; undefined where dropout is 0
  at::Tensor keys;    ///< i64 [3, T]: item, local number and first edge (AttentionDropout); undefined: none
  int64_t edges = 0;  ///< E
};

/// What forward keeps for backward. z [S, H*D] (no rows where it is computed again), s [S, H], t [T, H],
/// highest [T, H], scale [T, H]; alpha [E (+ T), H] if asked for, else no rows.
struct GatSaved {
  at::Tensor z, s, t, highest, scale, alpha;
};

struct GatOutput {
  at::Tensor out;  ///< [T, H*D]
  GatSaved saved;
};

/// Gradients; undefined where not asked for or where there is no such input.
struct GatInputGradients {
  at::Tensor x, weight, att_source, att_target, target_score, edge_attr, q, bias;
};

/// Graph attention, kernels/gat.h with its products. Parallel over closed pieces or ranges of nodes; the
/// kernels' bits do not depend on the number of threads.
GatOutput gat_forward(const GatTensors& tensors, const GatOptions& options);
GatInputGradients gat_backward(const at::Tensor& grad_out, const at::Tensor& grad_alpha,
                               const GatTensors& tensors, const GatSaved& saved, const GatOptions& options,
                               bool needs_x, bool needs_edge_attr);

}  // namespace plimsoll
