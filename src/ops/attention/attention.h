#pragma once

#include <ATen/core/Tensor.h>

#include "kernels/attention/attention.h"
#include "kernels/edge_order.h"

namespace plimsoll {

/// Returns the edges sorted by target, as attention reads them (kernels/edge_order.h): i32, one dimension.
/// edge_index is i64 [2, E]; row 0 has the sources, row 1 the targets. With `same_nodes`, sources and targets
/// are the same nodes, and the order is cut into pieces. If ptr, i64 [G + 1], gives the graphs of the nodes,
/// the cuts are between graphs, and no edge may lead from one graph to another. Otherwise the function
/// searches for places that no edge crosses. Orders on a device are not cut, and ptr is not read. Errors:
/// UsageError for wrong shapes, dtypes or counts, or 2^31 - 1 or more edges or nodes; those of
/// make_edge_order().
at::Tensor edge_order(const at::Tensor& edge_index, int64_t sources, int64_t targets, bool same_nodes,
                      bool drop_loops, const at::Tensor& ptr = {});

/// Returns E, the number of the caller's edges, of an order with this size and number of targets.
template <typename Size>
Size edges_of_order(const Size& order_size, const Size& targets) {
  return (order_size - edge_order_size(0, 0) - 2 * targets) / 2;
}

/// The options of a layer of attention.
struct AttentionOptions {
  int64_t heads = 1;
  double slope = 0.2;              ///< Slope of LeakyReLU.
  bool loops = false;              ///< Add a self-loop to every target.
  LoopFill fill = LoopFill::mean;  ///< Edge features of added self-loops.
  double fill_value = 0;
  double dropout = 0;           ///< Dropout probability of attention weights.
  bool keep_projection = true;  ///< Keep z for backward; if false, z is recomputed from x.
  bool return_attention = false;
};

/// Tensors that every kind of attention reads. There are S sources, T targets, E edges, H heads of D channels
/// and K edge features.
///
/// All real tensors have the same dtype, f32 or f64. On the CPU they may also be bf16, with sums in f32. In
/// this case x, its projections with their weights and biases, edge_attr, z, out and their gradients are
/// bf16; att, q, edge_weight, target_score and bias may be bf16 or f32, and their gradients have the same
/// dtype; scores, their statistics and the returned attention are f32.
struct AttentionTensors {
  at::Tensor x;          ///< [S, F]
  at::Tensor weight;     ///< [H*D, F]
  at::Tensor order;      ///< The order that edge_order() returns.
  at::Tensor edge_attr;  ///< [E, K], or undefined.
  at::Tensor bias;       ///< [H*D], or undefined.
  at::Tensor seed;       ///< i64 [3]: seed, layer, epoch; undefined if dropout is 0.
  at::Tensor keys;       ///< i64 [3, T]: rows item, local and first_edge of AttentionDropout; or undefined.
};

}  // namespace plimsoll
