#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace plimsoll {

/// A convolution's sum over a chunk of one node's edges. A node with more edges than fit into one block is
/// computed in chunks: the sums of the chunks are added in order, and the convolution is then finished with
/// the node's own row. Sums are f64; they are undefined if there are no edges.
///
/// Attention computes a softmax over all edges, whose maximum is known only at the end. Its sums are relative
/// to the maximum so far, and add() rescales them to the common maximum (Milakov and Gimelshein, "Online
/// normalizer calculation for softmax", 2018).
struct NeighbourSum {
  at::Tensor sum = {};        ///< [1, F]; for attention [heads, channels].
  at::Tensor highest = {};    ///< [heads, 1], the highest score of an edge; attention only.
  at::Tensor weight = {};     ///< [heads, 1], the sum of exp(score - highest); attention only.
  at::Tensor edge_attr = {};  ///< [1, K], the sum of the edges' features; attention only.
  int64_t edges = 0;          ///< Number of edges.

  /// Adds the sum of the next chunk.
  void add(const NeighbourSum& chunk);
};

/// Returns the sum of attention over some edges of one target, from the layer's output for these edges alone:
/// `out` [1, heads * channels], `highest` and `scale` [1, heads] (ops/gat/gat.h). `edge_attr` [edges, K] has
/// the features of these edges, or is undefined.
NeighbourSum sum_of_attention(const at::Tensor& out, const at::Tensor& highest, const at::Tensor& scale,
                              const at::Tensor& edge_attr, int64_t edges);

}  // namespace plimsoll
