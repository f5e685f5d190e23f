#pragma once

#include <cstdint>

#include "base/words.h"
#include "kernels/bfloat16.h"
#include "kernels/edge_order.h"
#include "kernels/level.h"

namespace plimsoll {

/// Edge features of the self-loops that attention adds.
enum class LoopFill : uint8_t { zero, mean, value };
template <>
inline constexpr auto kWords<LoopFill> = std::to_array<std::string_view>({"zero", "mean", "value"});

/// Dropout of attention weights. Whether a weight is dropped depends only on (seed, layer, epoch, item of the
/// target's graph, index of the edge, head), so no mask is stored. Edges are counted from the first edge of
/// their graph. An added self-loop has the index of its node in the graph, and uses a separate random stream.
struct AttentionDropout {
  double p = 0;  ///< Probability in [0, 1); 0 switches dropout off.
  uint64_t seed = 0;
  uint32_t layer = 0;
  uint32_t epoch = 0;
  const int64_t* item = nullptr;   ///< [T] index of the target's graph in its data set; null: 0 for all.
  const int64_t* local = nullptr;  ///< [T] index of the node in its graph; null: its index in the arrays.
  /// [T] index of the first of the caller's edges in the target's graph; null: 0 for all.
  const int64_t* first_edge = nullptr;
};

/// The arrays and options that all kinds of graph attention share:
///
///     alpha_e = softmax of score_e over the edges e into i;   out_i = sum_e mask_e alpha_e z_j + bias
///
/// There are S sources, T targets, E edges of the caller, H heads of D channels and K edge features. All
/// arrays are in C order. With `loops`, every target gets one more edge, after its other edges, from the
/// source with the same index.
///
/// T is float or double. Large arrays are stored as Stored: T, or BFloat16 with float. Scores, their
/// statistics and all sums have type T.
template <typename T, typename Stored = T>
struct Attention {
  EdgeOrder order;
  int64_t caller_edges = 0;  ///< E.
  int64_t heads = 1;
  int64_t channels = 1;
  int64_t edge_features = 0;
  T slope = T(0.2);  ///< Slope of LeakyReLU.
  bool loops = false;
  LoopFill fill = LoopFill::zero;
  T fill_value = 0;
  AttentionDropout dropout;

  const Stored* z = nullptr;          ///< [S, H*D].
  const Stored* edge_attr = nullptr;  ///< [E, K]; null if K = 0.
  const T* bias = nullptr;            ///< [H*D], or null.
  T* highest = nullptr;   ///< [T, H] largest score of each target; written by forward, read by backward.
  T* scale = nullptr;     ///< [T, H] 1 / sum of exp(score - highest); 0 for a target without edges.
  Stored* out = nullptr;  ///< [T, H*D].
  T* alpha = nullptr;     ///< [E (+ T), H] mask_e alpha_e, self-loops last; null if not requested.
};

/// Arrays of the backward pass. Each holds the gradient of the array with the same name in Attention.
template <typename T, typename Stored = T>
struct AttentionGradients {
  const Stored* out = nullptr;  ///< [T, H*D], input.
  const T* alpha = nullptr;     ///< [E (+ T), H], input, or null.
  T* z = nullptr;               ///< [S, H*D], added to.
  Stored* edge_attr = nullptr;  ///< [E, K], written for edges of the order; null if not requested.
  T* bias = nullptr;            ///< [H*D], added to; null if not requested.
  /// [positions (+ T), 2H] mask_e alpha_e and the gradient of score_e (GAT: before LeakyReLU), for gather().
  /// Needed if pieces are not closed; otherwise null.
  T* handoff = nullptr;
};

/// The edges of an order sorted by source (transpose_edge_order()). Needed if pieces are not closed.
struct OutEdges {
  const int32_t* ptr;       ///< [S + 1].
  const int32_t* position;  ///< [edges], position in the order.
  const int32_t* target;    ///< [edges].
};

}  // namespace plimsoll
