#pragma once

// Functions that the CUDA kernels of attention share; warp.h says how kernels are written.

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>

#include "base/philox.h"
#include "kernels/attention/attention.h"
#include "kernels/warp.h"

namespace plimsoll {

/// The edges of one target: its positions in the order, then the self-loop that attention adds.
template <typename T>
struct TargetEdges {
  int64_t node;
  int64_t first;  // Position of the first edge.
  int64_t edges;  // Number of edges without the added self-loop.
  int64_t all;    // Number of edges with it.

  PLIMSOLL_DEVICE TargetEdges(const Attention<T>& layer, int64_t i)
      : node(i),
        first(layer.order.in_ptr[i]),
        edges(layer.order.in_ptr[i + 1] - layer.order.in_ptr[i]),
        all(edges + (layer.loops ? 1 : 0)) {}

  PLIMSOLL_DEVICE int64_t source(const Attention<T>& layer, int64_t e) const {
    return e < edges ? layer.order.source[first + e] : node;
  }
  /// Returns the row of an edge in alpha, which is in the caller's order, or in the arrays that one step
  /// passes to the next, which are in the order of positions. Self-loops come after all edges.
  PLIMSOLL_DEVICE int64_t alpha_row(const Attention<T>& layer, int64_t e) const {
    return e < edges ? layer.order.edge[first + e] : layer.caller_edges + node;
  }
  PLIMSOLL_DEVICE int64_t row(const Attention<T>& layer, int64_t e) const {
    return e < edges ? first + e : layer.order.edges + node;
  }
};

/// Numbers indexed by (edge, head) in a workspace. Rows are `stride` numbers apart.
template <typename T>
struct EdgeNumbers {
  T* at;
  int64_t stride;

  PLIMSOLL_DEVICE T& operator()(int64_t row, int64_t head) const { return at[row * stride + head]; }
};

template <typename T>
PLIMSOLL_DEVICE T leaky(T value, T slope) {
  return value > T(0) ? value : value * slope;
}

/// Returns 0 or 1 / (1 - p). Each head uses one of the four random numbers of its counter.
template <typename T>
PLIMSOLL_DEVICE T dropout_factor(const Attention<T>& layer, const TargetEdges<T>& target, int64_t e,
                                 int64_t head) {
  const AttentionDropout& dropout = layer.dropout;
  if (dropout.p == 0) return T(1);
  const int64_t i = target.node;
  const bool loop = e == target.edges;
  const int64_t item = dropout.item == nullptr ? 0 : dropout.item[i];
  const int64_t base = dropout.first_edge == nullptr ? 0 : dropout.first_edge[i];
  const int64_t local = dropout.local == nullptr ? i : dropout.local[i];
  const auto number = static_cast<uint64_t>(loop ? local : layer.order.edge[target.first + e] - base);
  const auto quad = number * static_cast<uint64_t>((layer.heads + 3) / 4) + static_cast<uint64_t>(head / 4);
  const Philox::Counter bits = Philox(dropout.seed)(
      philox_counter(loop ? Purpose::loop_dropout : Purpose::attention_dropout, dropout.layer, dropout.epoch,
                     static_cast<uint32_t>(item), static_cast<uint32_t>(quad)));
  return bits[static_cast<size_t>(head % 4)] < static_cast<uint32_t>(dropout.p * 0x1p32)
             ? T(0)
             : T(1) / (T(1) - static_cast<T>(dropout.p));
}

/// Assigns lanes to the (edge, head) pairs of a target, for the heads from `first` on. A lane gets the same
/// pairs in every pass.
template <typename T>
struct PairLanes {
  ColumnLanes lanes;
  int64_t first;
  int64_t heads;

  PLIMSOLL_DEVICE PairLanes(const Attention<T>& layer, int64_t first_head)
      : lanes(layer.heads), first(first_head), heads(layer.heads) {}

  PLIMSOLL_DEVICE int64_t head(int lane) const { return first + lanes.column(lane); }

  /// Calls use(e, head) for the lane's pairs among the edges 0 .. edges-1.
  template <typename Use>
  PLIMSOLL_DEVICE void over(int lane, int64_t edges, Use use) const {
    if (head(lane) >= heads) return;
    for (int64_t e = lanes.row(lane); e < edges; e += lanes.rows()) use(e, head(lane));
  }
  /// Returns whether the lane has an edge, and whether it writes the numbers that exist once for each head.
  PLIMSOLL_DEVICE bool has(int lane, int64_t e) const {
    return head(lane) < heads && e % lanes.rows() == lanes.row(lane);
  }
  PLIMSOLL_DEVICE bool leads(int lane) const { return head(lane) < heads && lanes.row(lane) == 0; }
};

/// Turns scores of a target into mask * alpha, in place and in layer.alpha if requested. Writes highest and
/// scale.
template <typename Warp, typename T>
PLIMSOLL_DEVICE void softmax(const Warp& warp, const Attention<T>& layer, const TargetEdges<T>& target,
                             const PairLanes<T>& pairs, const EdgeNumbers<T>& a) {
  PerLane<Warp, T> highest(-std::numeric_limits<T>::infinity());
  PerLane<Warp, T> sum(T(0));
  const int width = pairs.lanes.width;
  warp.each([&](int lane) {
    pairs.over(lane, target.all, [&](int64_t e, int64_t h) {
      const T score = a(target.row(layer, e), h);
      highest[lane] = score > highest[lane] ? score : highest[lane];
    });
  });
  warp.highest(highest, width, kWarpLanes);
  warp.each([&](int lane) {
    pairs.over(lane, target.all, [&](int64_t e, int64_t h) {
      T& score = a(target.row(layer, e), h);
      score = std::exp(score - highest[lane]);
      sum[lane] += score;
    });
  });
  warp.sum(sum, width, kWarpLanes);
  warp.each([&](int lane) {
    const T scale = target.all > 0 ? T(1) / sum[lane] : T(0);
    pairs.over(lane, target.all, [&](int64_t e, int64_t h) {
      T& alpha = a(target.row(layer, e), h);
      alpha *= scale * dropout_factor(layer, target, e, h);
      if (layer.alpha != nullptr) layer.alpha[target.alpha_row(layer, e) * layer.heads + h] = alpha;
    });
    if (!pairs.leads(lane)) return;
    const int64_t to = target.node * layer.heads + pairs.head(lane);
    layer.highest[to] = target.all > 0 ? highest[lane] : T(0);
    layer.scale[to] = scale;
  });
}

/// Runs backward from alpha, whose sign encodes the branch of LeakyReLU, and from p = <grad_i, z_j>. `a`
/// becomes mask * alpha, and `p` becomes the gradient of the score (before LeakyReLU if the sign is -). The
/// sum of these gradients over the target's edges is stored in sum_of_scores, if given.
template <typename Warp, typename T>
PLIMSOLL_DEVICE void score_gradients(const Warp& warp, const Attention<T>& layer, const T* alpha_gradient,
                                     const TargetEdges<T>& target, const PairLanes<T>& pairs,
                                     const EdgeNumbers<T>& a, const EdgeNumbers<T>& p, T* sum_of_scores) {
  PerLane<Warp, T> delta(T(0));
  PerLane<Warp, T> total(T(0));
  const int width = pairs.lanes.width;
  warp.each([&](int lane) {
    pairs.over(lane, target.all, [&](int64_t e, int64_t h) {
      T& mine = p(target.row(layer, e), h);
      if (alpha_gradient != nullptr) mine += alpha_gradient[target.alpha_row(layer, e) * layer.heads + h];
      mine *= dropout_factor(layer, target, e, h);
      delta[lane] += std::abs(a(target.row(layer, e), h)) * mine;
    });
  });
  warp.sum(delta, width, kWarpLanes);
  warp.each([&](int lane) {
    pairs.over(lane, target.all, [&](int64_t e, int64_t h) {
      T& alpha = a(target.row(layer, e), h);
      T& mine = p(target.row(layer, e), h);
      mine = std::abs(alpha) * (mine - delta[lane]) * (alpha < T(0) ? layer.slope : T(1));
      alpha = std::abs(alpha) * dropout_factor(layer, target, e, h);
      total[lane] += mine;
    });
  });
  if (sum_of_scores == nullptr) return;
  warp.sum(total, width, kWarpLanes);
  warp.each([&](int lane) {
    if (pairs.leads(lane)) sum_of_scores[target.node * layer.heads + pairs.head(lane)] = total[lane];
  });
}

/// Number of tiles that are computed at once, chosen so that they fit into registers.
template <int kVector>
inline constexpr int kTilesAtOnce = kVector >= 4 ? 2 : 8 / kVector;

/// The columns and heads that a lane computes in the tiles from `first` on.
template <int kVector>
struct LaneTiles {
  int column[kTilesAtOnce<kVector>];
  int head[kTilesAtOnce<kVector>];

  PLIMSOLL_DEVICE LaneTiles(const HeadTiles<kVector>& tiles, int first, int lane) {
    for (int r = 0; r < kTilesAtOnce<kVector>; ++r) {
      column[r] = tiles.column(first + r, lane);
      head[r] = tiles.head(first + r, lane);
    }
  }
};

/// Computes out_i = bias + sum over the edges of alpha_e z_j.
template <int kVector, typename Warp, typename T>
PLIMSOLL_DEVICE void sum_messages(const Warp& warp, const Attention<T>& layer, const TargetEdges<T>& target,
                                  const EdgeNumbers<T>& alpha) {
  constexpr int kTiles = kTilesAtOnce<kVector>;
  const HeadTiles<kVector> tiles(layer.heads, layer.channels);
  const int64_t width = layer.heads * layer.channels;
  for (int first = 0; first < tiles.count(); first += kTiles) {
    warp.each([&](int lane) {
      const LaneTiles<kVector> mine(tiles, first, lane);
      Pack<T, kVector> sum[kTiles];
      for (int r = 0; r < kTiles; ++r)
        if (mine.column[r] >= 0 && layer.bias != nullptr)
          sum[r] = warp.template load<kVector>(layer.bias + mine.column[r]);
      for (int64_t e = 0; e < target.all; ++e) {
        const T* const z = layer.z + target.source(layer, e) * width;
        const int64_t row = target.row(layer, e);
        for (int r = 0; r < kTiles; ++r) {
          if (mine.column[r] < 0) continue;
          const T weight = alpha(row, mine.head[r]);
          const Pack<T, kVector> from = warp.template load<kVector>(z + mine.column[r]);
          for (int v = 0; v < kVector; ++v) sum[r].at[v] += weight * from.at[v];
        }
      }
      for (int r = 0; r < kTiles; ++r)
        if (mine.column[r] >= 0) warp.store(layer.out + target.node * width + mine.column[r], sum[r]);
    });
  }
}

/// Adds a head's sum over one tile of its channels to `to`. The sum of the first tile is written, not added.
template <int kVector, typename T>
PLIMSOLL_DEVICE void add_chunk(const HeadTiles<kVector>& tiles, int tile, int lane, const EdgeNumbers<T>& to,
                               int64_t row, T value) {
  T& number = to(row, tiles.head(tile, lane));
  number = tile % tiles.chunks == 0 ? value : number + value;
}

template <int kCount>
struct VectorOf {
  static constexpr int kVector = kCount;
};

/// Calls call(x), where x.kVector is how many numbers may be loaded at once: 16 bytes if channels and arrays
/// allow it, otherwise single numbers. float64 loads single numbers.
template <typename T, typename Call>
void with_vectors(int64_t channels, std::initializer_list<const void*> arrays, const Call& call) {
  if constexpr (sizeof(T) == sizeof(float)) {
    bool aligned = channels % 4 == 0;
    for (const void* const array : arrays) aligned &= reinterpret_cast<uintptr_t>(array) % 16 == 0;
    if (aligned) return call(VectorOf<4>());
  }
  call(VectorOf<1>());
}

}  // namespace plimsoll
