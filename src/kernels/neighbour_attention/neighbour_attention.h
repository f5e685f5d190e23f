#pragma once

#include <cstdint>

#include "kernels/edge_order.h"
#include "kernels/level.h"

namespace plimsoll {

/// Attention of targets over the sources of their edges. With H heads of D channels, for target i, head h and
/// the edges e from sources j to i:
///
///     s_e       = att_h . leaky_relu(key_jh + query_ih)   (GATv2: Brody et al., ICLR 2022, eq. 7), or
///                 query_ih . key_jh                       without att (Vaswani et al., NeurIPS 2017)
///     log_sum_i = log of the sum of exp(s_e)
///     out_i     = sum of exp(s_e - log_sum_i) value_jh
///
/// A target without edges has out 0 and log_sum kNoEdges. Sources are S, targets T. All arrays are in C
/// order; key and value may be the same array.
template <typename T>
struct NeighbourAttention {
  EdgeOrder order = {};
  int64_t heads = 1, channels = 1;
  T slope = 0;               ///< Slope of leaky_relu.
  const T* key = nullptr;    ///< [S, H*D].
  const T* value = nullptr;  ///< [S, H*D].
  const T* query = nullptr;  ///< [T, H*D].
  const T* att = nullptr;    ///< [H*D], or null.
  T* out = nullptr;          ///< [T, H*D]; written by forward, read by backward.
  T* log_sum = nullptr;      ///< [T, H]; written by forward, read by backward.
};

/// The log_sum of a target without edges. It is finite, so that differences between two of them are defined.
inline constexpr float kNoEdges = -1e30F;

/// Gradients. Backward reads `out` and `log_sum`, and adds to the others; key and value may be the same
/// array.
template <typename T>
struct NeighbourAttentionGradients {
  const T* out = nullptr;      ///< [T, H*D].
  const T* log_sum = nullptr;  ///< [T, H]; null: 0.
  T* key = nullptr;            ///< [S, H*D].
  T* value = nullptr;          ///< [S, H*D].
  T* query = nullptr;          ///< [T, H*D].
  T* att = nullptr;            ///< [H*D]; null without att.
};

/// Forward computes the targets begin .. end-1. Backward adds the parts of the heads begin .. end-1, of all
/// targets in order. Neither touches anything else nor needs memory, so threads can share the work, the bits
/// do not depend on how, and plans need to know nothing but the sizes of results.
template <typename T>
struct NeighbourAttentionKernels {
  void (*forward)(const NeighbourAttention<T>& layer, int64_t begin, int64_t end);
  void (*backward)(const NeighbourAttention<T>& layer, const NeighbourAttentionGradients<T>& gradients,
                   int64_t begin, int64_t end);
};

/// T is float or double.
template <typename T>
const NeighbourAttentionKernels<T>& neighbour_attention_kernels(Level level);

}  // namespace plimsoll
