#pragma once

#include <cstdint>

#include "kernels/bfloat16.h"
#include "kernels/edge_order.h"
#include "kernels/level.h"

namespace plimsoll {

/// What a self-loop that attention adds has as edge features.
enum class LoopFill : uint8_t { zero, mean, value };

/// Dropout of attention weights: which are dropped depends on (seed, layer, epoch, item of the target's
/// graph, number of the edge, head) alone, so no mask is stored. Edges count from the first of their graph,
/// added self-loops are numbered by local node in a stream of their own.
struct AttentionDropout {
  double p = 0;  ///< in [0, 1); 0 switches it off
  uint64_t seed = 0;
  uint32_t layer = 0;
  uint32_t epoch = 0;
  const int64_t* item = nullptr;        ///< [T] index of the target's graph in its data set; null: 0
  const int64_t* local = nullptr;       ///< [T] number of the node in its graph; null: its index
  const int64_t* first_edge = nullptr;  ///< [T] the caller's first edge of the target's graph; null: 0
};

/// What the kinds of graph attention share:
///
///     alpha_e = softmax of score_e over the edges e into i;   out_i = sum_e mask_e alpha_e z_j + bias
///
/// S sources, T targets, E edges of the caller, H heads of D channels, K edge features; all arrays C order.
/// With `loops` every target gets one more edge from the source of its number, after its others.
///
/// T is float or double. What is large is stored as Stored: T, or BFloat16 with float; scores, their
/// statistics and all sums are T.
template <typename T, typename Stored = T>
struct Attention {
  EdgeOrder order;
  int64_t caller_edges = 0;  ///< E
  int64_t heads = 1;
  int64_t channels = 1;
  int64_t edge_features = 0;
  T slope = T(0.2);  ///< of LeakyReLU
  bool loops = false;
  LoopFill fill = LoopFill::zero;
  T fill_value = 0;
  AttentionDropout dropout;

  const Stored* z = nullptr;          ///< [S, H*D]
  const Stored* edge_attr = nullptr;  ///< [E, K]; null where K = 0
  const T* bias = nullptr;            ///< [H*D], or null
  T* highest = nullptr;               ///< [T, H] largest score of each target; written forward, read backward
  T* scale = nullptr;                 ///< [T, H] 1 / sum of exp(score - highest); 0 without edges
  Stored* out = nullptr;              ///< [T, H*D]
  T* alpha = nullptr;                 ///< [E (+ T), H] mask_e alpha_e, self-loops last; null if not asked for
};

/// Backward. Gradients are of the arrays with the same name.
template <typename T, typename Stored = T>
struct AttentionGradients {
  const Stored* out = nullptr;  ///< [T, H*D] given
  const T* alpha = nullptr;     ///< [E (+ T), H] given, or null
  T* z = nullptr;               ///< [S, H*D] added to
  Stored* edge_attr = nullptr;  ///< [E, K] written for edges of the order; null if not asked for
  T* bias = nullptr;            ///< [H*D] added to; null if not asked for
  /// Where pieces are not closed: [positions (+ T), 2H] mask_e alpha_e and the gradient of score_e (GAT:
  /// before LeakyReLU), for gather(). Else null.
  T* handoff = nullptr;
};

/// The edges of an order by source, where pieces are not closed: transpose_edge_order().
struct OutEdges {
  const int32_t* ptr;       ///< [S + 1]
  const int32_t* position;  ///< [edges] place in the order
  const int32_t* target;    ///< [edges]
};

}  // namespace plimsoll
