#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "kernels/edge_order.h"

namespace plimsoll {

/// Edges by target, as attention reads them (kernels/edge_order.h): i32, one dimension. edge_index is i64 [2,
/// E], sources above targets. With `same_nodes` sources and targets are the same nodes; ptr i64 [G + 1] may
/// then give the graphs they belong to, between which no edge may lead: it says where the order may be cut,
/// which it else finds out. Orders on a device are not cut and do not read ptr. Errors: UsageError,
/// InputError.
at::Tensor edge_order(const at::Tensor& edge_index, int64_t sources, int64_t targets, bool same_nodes,
                      bool drop_loops, const at::Tensor& ptr = {});

/// The caller's edges, E, of an order for so many targets.
template <typename Size>
Size edges_of_order(const Size& order_size, const Size& targets) {
  return (order_size - edge_order_size(0, 0) - 2 * targets) / 2;
}

/// What a layer of attention computes, apart from tensors.
struct AttentionOptions {
  int64_t heads = 1;
  double slope = 0.2;         ///< of LeakyReLU
  bool loops = false;         ///< add a self-loop to every target
  std::string fill = "mean";  ///< edge features of added self-loops: zero | mean | value
  double fill_value = 0;
  double dropout = 0;           ///< of attention weights
  bool keep_projection = true;  ///< keep z for backward; else it is computed again from x
  bool return_attention = false;
};

/// Tensors that every kind of attention takes. S sources, T targets, E edges, H heads of D channels, K edge
/// features.
///
/// Floats are f32 or f64 alike, or, on the CPU, bf16 with sums in f32: x, its projections with their weights
/// and biases, edge_attr, z, out and their gradients are bf16; att, q, edge_weight, target_score and bias may
/// be bf16 or f32 and have gradients of their own dtype; scores, their statistics and the attention returned
/// are f32.
struct AttentionTensors {
  at::Tensor x;          ///< [S, F]
  at::Tensor weight;     ///< [H*D, F]
  at::Tensor order;      ///< edge_order()
  at::Tensor edge_attr;  ///< [E, K], or undefined
  at::Tensor bias;       ///< [H*D], or undefined
  at::Tensor seed;       ///< i64 [3]: seed, layer, epoch; undefined where dropout is 0
  at::Tensor keys;  ///< i64 [3, T]: item, local number and first edge (AttentionDropout); undefined: none
};

}  // namespace plimsoll
