#pragma once

// Functions that the kernels of attention share, on a range of nodes. They are compiled once for each level
// (simd.h).

#include "base/philox.h"
#include "kernels/attention/attention.h"
#include "kernels/simd.h"

namespace plimsoll {
namespace {

template <int kCount>
struct Count {
  static constexpr int value = kCount;
};

/// Calls step(Count<n>, v) for blocks of n <= 4 vectors that begin at vector v. Four vectors fit into
/// registers.
template <typename Step>
PLIMSOLL_INLINE void in_blocks(int64_t vectors, Step step) {
  int64_t v = 0;
  for (; v + 4 <= vectors; v += 4) step(Count<4>(), v);
  switch (vectors - v) {
    case 3:
      return step(Count<3>(), v);
    case 2:
      return step(Count<2>(), v);
    case 1:
      return step(Count<1>(), v);
    default:
      return;
  }
}

template <typename T, int kLanes, typename A, typename B>
PLIMSOLL_INLINE T dot(const A* a, const B* b, int64_t vectors) {
  using L = Lanes<T, kLanes>;
  typename L::Vec sum{};
  for (int64_t v = 0; v < vectors; ++v) sum += L::load(a + v * kLanes) * L::load(b + v * kLanes);
  return L::sum(sum);
}

/// Computes out += factor * a.
template <typename T, int kLanes, typename A>
PLIMSOLL_INLINE void add_scaled(T factor, const A* a, T* out, int64_t vectors) {
  using L = Lanes<T, kLanes>;
  const typename L::Vec w = L::all(factor);
  for (int64_t v = 0; v < vectors; ++v)
    L::store(out + v * kLanes, L::load(out + v * kLanes) + w * L::load(a + v * kLanes));
}

/// Fills factor[h] with 0 or 1 / (1 - p) for one edge.
template <typename T>
inline void dropout_of_edge(const AttentionDropout& dropout, Purpose purpose, int64_t item, uint64_t edge,
                            int64_t heads, T* factor) {
  const Philox philox(dropout.seed);
  const auto dropped_below = static_cast<uint32_t>(dropout.p * 0x1p32);
  const T kept = T(1) / (T(1) - static_cast<T>(dropout.p));
  const uint64_t first = edge * static_cast<uint64_t>((heads + 3) / 4);
  for (int64_t h = 0; h < heads; h += 4) {
    const Philox::Counter bits =
        philox(philox_counter(purpose, dropout.layer, dropout.epoch, static_cast<uint32_t>(item),
                              static_cast<uint32_t>(first + static_cast<uint64_t>(h / 4))));
    for (int64_t k = 0; k < 4 && h + k < heads; ++k)
      factor[h + k] = bits.data()[k] < dropped_below ? T(0) : kept;
  }
}

/// The edges of one target: its positions, then the self-loop that attention adds.
template <typename T, typename Stored>
struct Target {
  int64_t node;
  int64_t first;  // Position of the first edge.
  int64_t edges;  // Number of edges without the added self-loop.
  int64_t all;    // Number of edges with it.

  Target(const Attention<T, Stored>& layer, int64_t i)
      : node(i),
        first(layer.order.in_ptr[i]),
        edges(layer.order.in_ptr[i + 1] - layer.order.in_ptr[i]),
        all(edges + (layer.loops ? 1 : 0)) {}

  int64_t source(const Attention<T, Stored>& layer, int64_t e) const {
    return e < edges ? layer.order.source[first + e] : node;
  }
  /// Row of an edge in alpha and in the handoff. Self-loops come after all edges.
  int64_t alpha_row(const Attention<T, Stored>& layer, int64_t e) const {
    return e < edges ? layer.order.edge[first + e] : layer.caller_edges + node;
  }
  int64_t handoff_row(const Attention<T, Stored>& layer, int64_t e) const {
    return e < edges ? first + e : layer.order.edges + node;
  }
};

/// Prefetches the rows [nodes, width] of some nodes while earlier rows are in use, because rows are scattered
/// in memory if pieces are not closed.
template <typename Stored>
PLIMSOLL_INLINE void prefetch_rows(const Stored* rows, int64_t width, const int32_t* nodes, int64_t first,
                                   int64_t last) {
  constexpr int64_t kLine = 64 / sizeof(Stored);
  constexpr int64_t kMaxRows = 64;
  for (int64_t n = first; n < last && n < first + kMaxRows; ++n)
    for (int64_t d = 0; d < width; d += kLine) __builtin_prefetch(rows + nodes[n] * width + d);
}

/// kLanes divides the number of channels. kHeads is the number of heads if that is known at compile time,
/// otherwise 0. If it is known, all heads of an edge are computed at once.
template <typename T, typename Stored, int kLanes, int kHeads>
struct AttentionRows {
  static constexpr int kHeadLanes = kHeads > 0 ? kHeads : 1;
  using H = Lanes<T, kHeadLanes>;
  using HeadVec = typename H::Vec;

  static PLIMSOLL_INLINE int64_t heads_of(const Attention<T, Stored>& layer) {
    return kHeads > 0 ? kHeads : layer.heads;
  }

  static PLIMSOLL_INLINE void clear(T* row, int64_t heads) {
    for (int64_t h = 0; h < heads; h += kHeadLanes) H::store(row + h, HeadVec{});
  }
  /// Computes to += factor * row.
  static PLIMSOLL_INLINE void add_heads(T factor, const T* row, T* to, int64_t heads) {
    for (int64_t h = 0; h < heads; h += kHeadLanes)
      H::store(to + h, H::load(to + h) + factor * H::load(row + h));
  }
  /// Computes to *= row.
  static PLIMSOLL_INLINE void multiply_heads(const T* row, T* to, int64_t heads) {
    for (int64_t h = 0; h < heads; h += kHeadLanes) H::store(to + h, H::load(to + h) * H::load(row + h));
  }

  /// Fills factor[e, h] for all edges of a target; returns false if there is no dropout.
  static bool masks(const Attention<T, Stored>& layer, const Target<T, Stored>& target, T* factor) {
    const AttentionDropout& dropout = layer.dropout;
    if (dropout.p == 0) return false;
    const int64_t i = target.node;
    const int64_t item = dropout.item == nullptr ? 0 : dropout.item[i];
    const int64_t base = dropout.first_edge == nullptr ? 0 : dropout.first_edge[i];
    for (int64_t e = 0; e < target.edges; ++e)
      dropout_of_edge(dropout, Purpose::attention_dropout, item,
                      static_cast<uint64_t>(layer.order.edge[target.first + e] - base), layer.heads,
                      factor + e * layer.heads);
    if (layer.loops)
      dropout_of_edge(dropout, Purpose::loop_dropout, item,
                      static_cast<uint64_t>(dropout.local == nullptr ? i : dropout.local[i]), layer.heads,
                      factor + target.edges * layer.heads);
    return true;
  }

  static PLIMSOLL_INLINE void prefetch_next(const Attention<T, Stored>& layer, int64_t i, int64_t end) {
    if (!layer.order.closed && i < end)
      prefetch_rows(layer.z, heads_of(layer) * layer.channels, layer.order.source, layer.order.in_ptr[i],
                    layer.order.in_ptr[i + 1]);
  }

  /// Turns scores into alpha, and stores the statistics that backward needs. With kLeaky the scores are
  /// logits to which LeakyReLU has not been applied yet.
  template <bool kLeaky>
  static PLIMSOLL_INLINE void softmax(const Attention<T, Stored>& layer, const Target<T, Stored>& target,
                                      T* a) {
    const int64_t heads = heads_of(layer);
    for (int64_t h = 0; h < heads; h += kHeadLanes) {
      HeadVec highest = HeadVec{} - (target.all > 0 ? static_cast<T>(__builtin_inf()) : T(0));
      for (int64_t e = 0; e < target.all; ++e) {
        HeadVec score = H::load(a + e * heads + h);
        if constexpr (kLeaky) score = score > T(0) ? score : score * layer.slope;
        H::store(a + e * heads + h, score);
        highest = score > highest ? score : highest;
      }
      HeadVec sum{};
      for (int64_t e = 0; e < target.all; ++e) {
        const HeadVec power = exp_of_negative(H(), H::load(a + e * heads + h) - highest);
        H::store(a + e * heads + h, power);
        sum += power;
      }
      const HeadVec scale = target.all > 0 ? T(1) / sum : sum;
      for (int64_t e = 0; e < target.all; ++e)
        H::store(a + e * heads + h, H::load(a + e * heads + h) * scale);
      H::store(layer.highest + target.node * heads + h, highest);
      H::store(layer.scale + target.node * heads + h, scale);
    }
  }

  /// Computes alpha again from the statistics of forward. With kLeaky, the derivative of LeakyReLU is stored
  /// in `leak`.
  template <bool kLeaky>
  static PLIMSOLL_INLINE void softmax_again(const Attention<T, Stored>& layer,
                                            const Target<T, Stored>& target, T* a, T* leak) {
    const int64_t heads = heads_of(layer);
    for (int64_t h = 0; h < heads; h += kHeadLanes) {
      const HeadVec highest = H::load(layer.highest + target.node * heads + h);
      const HeadVec scale = H::load(layer.scale + target.node * heads + h);
      for (int64_t e = 0; e < target.all; ++e) {
        HeadVec score = H::load(a + e * heads + h);
        if constexpr (kLeaky) {
          const HeadVec slope = score > T(0) ? HeadVec{} + T(1) : HeadVec{} + layer.slope;
          H::store(leak + e * heads + h, slope);
          score *= slope;
        }
        H::store(a + e * heads + h, exp_of_negative(H(), score - highest) * scale);
      }
    }
  }

  /// Writes alpha, mask included, to layer.alpha.
  static PLIMSOLL_INLINE void write_out(const Attention<T, Stored>& layer, const Target<T, Stored>& target,
                                        T* a, T* factor) {
    const int64_t heads = heads_of(layer);
    if (masks(layer, target, factor))
      for (int64_t e = 0; e < target.all; ++e) multiply_heads(factor + e * heads, a + e * heads, heads);
    for (int64_t h = 0; h < heads; ++h)
      sum_messages(layer, target, a + h, h * layer.channels,
                   layer.out + (target.node * heads + h) * layer.channels);
    if (layer.alpha == nullptr) return;
    for (int64_t e = 0; e < target.all; ++e)
      for (int64_t h = 0; h < heads; ++h)
        layer.alpha[target.alpha_row(layer, e) * heads + h] = a[e * heads + h];
  }

  /// Computes out = bias + sum_e weight_e z_j for one head.
  static PLIMSOLL_INLINE void sum_messages(const Attention<T, Stored>& layer, const Target<T, Stored>& target,
                                           const T* weight, int64_t column, Stored* out) {
    using L = Lanes<T, kLanes>;
    const int64_t heads = heads_of(layer);
    const int64_t width = heads * layer.channels;
    in_blocks(
        layer.channels / kLanes, [&](auto count, int64_t v) __attribute__((always_inline)) {
          constexpr int kVectors = decltype(count)::value;
          const int64_t at = column + v * kLanes;
          typename L::Vec sum[kVectors];
          for (int k = 0; k < kVectors; ++k)
            sum[k] = layer.bias == nullptr ? typename L::Vec{} : L::load(layer.bias + at + k * kLanes);
          for (int64_t e = 0; e < target.all; ++e) {
            const typename L::Vec w = L::all(weight[e * heads]);
            const Stored* const z = layer.z + target.source(layer, e) * width + at;
            for (int k = 0; k < kVectors; ++k) sum[k] += w * L::load(z + k * kLanes);
          }
          for (int k = 0; k < kVectors; ++k) L::store(out + (v + k) * kLanes, sum[k]);
        });
  }

  /// Computes the gradient of the scores, dl[e, h], from alpha. Afterwards alpha includes its mask.
  static PLIMSOLL_INLINE void score_gradients(const Attention<T, Stored>& layer,
                                              const AttentionGradients<T, Stored>& gradients,
                                              const Target<T, Stored>& target, T* a, T* factor, T* dl) {
    const int64_t heads = heads_of(layer);
    const int64_t channels = layer.channels;
    const Stored* const grad = gradients.out + target.node * heads * channels;
    const bool masked = masks(layer, target, factor);
    // Until delta is known, dl holds p_e = mask_e <grad_i, z_j>, the gradient of alpha_e.
    for (int64_t e = 0; e < target.all; ++e) {
      const Stored* const z = layer.z + target.source(layer, e) * heads * channels;
      for (int64_t h = 0; h < heads; ++h)
        dl[e * heads + h] = dot<T, kLanes>(grad + h * channels, z + h * channels, channels / kLanes);
      if (gradients.alpha != nullptr)
        add_heads(1, gradients.alpha + target.alpha_row(layer, e) * heads, dl + e * heads, heads);
      if (masked) multiply_heads(factor + e * heads, dl + e * heads, heads);
    }
    for (int64_t h = 0; h < heads; h += kHeadLanes) {
      HeadVec delta{};
      for (int64_t e = 0; e < target.all; ++e)
        delta += H::load(a + e * heads + h) * H::load(dl + e * heads + h);
      for (int64_t e = 0; e < target.all; ++e) {
        const int64_t k = e * heads + h;
        H::store(dl + k, H::load(a + k) * (H::load(dl + k) - delta));
      }
    }
    if (masked)
      for (int64_t e = 0; e < target.all; ++e) multiply_heads(factor + e * heads, a + e * heads, heads);
  }

  static PLIMSOLL_INLINE void hand_off(const Attention<T, Stored>& layer,
                                       const AttentionGradients<T, Stored>& gradients,
                                       const Target<T, Stored>& target, int64_t e, const T* a, const T* dl) {
    const int64_t heads = heads_of(layer);
    T* const to = gradients.handoff + target.handoff_row(layer, e) * 2 * heads;
    for (int64_t h = 0; h < heads; h += kHeadLanes) {
      H::store(to + h, H::load(a + e * heads + h));
      H::store(to + heads + h, H::load(dl + e * heads + h));
    }
  }

  /// Computes dz_j += alpha_e grad_i for one edge.
  static PLIMSOLL_INLINE void pass_to_source(const Attention<T, Stored>& layer, const T* alpha,
                                             const Stored* grad, T* dz) {
    const int64_t channels = layer.channels;
    for (int64_t h = 0; h < heads_of(layer); ++h)
      add_scaled<T, kLanes>(alpha[h], grad + h * channels, dz + h * channels, channels / kLanes);
  }
};

/// Selects the kernels with the widest vectors that divide the channels: vectors of `kBytes` bytes, of half
/// as many, or single numbers. float64 gets the variant that compiles fastest.
template <template <typename, typename, int, int> typename Rows, typename T, typename Stored, int kBytes,
          typename Call>
PLIMSOLL_INLINE void with_rows(int64_t heads, int64_t channels, Call call) {
  constexpr int kLanes = kBytes / static_cast<int>(sizeof(T));
  if constexpr (sizeof(T) == sizeof(double)) {
    if (channels % kLanes == 0) return call(Rows<T, Stored, kLanes, 0>());
    return call(Rows<T, Stored, 1, 0>());
  } else {
    const auto with_heads = [&](auto lanes) __attribute__((always_inline)) {
      constexpr int kUsed = decltype(lanes)::value;
      if (heads == 8) return call(Rows<T, Stored, kUsed, 8>());
      if (heads == 4) return call(Rows<T, Stored, kUsed, 4>());
      return call(Rows<T, Stored, kUsed, 0>());
    };
    if (channels % kLanes == 0) return with_heads(Count<kLanes>());
    if (channels % (kLanes / 2) == 0) return with_heads(Count<kLanes / 2>());
    return with_heads(Count<1>());
  }
}

}  // namespace
}  // namespace plimsoll
