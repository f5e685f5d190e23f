#pragma once

// The kernels of gat.h, compiled once a level by gat_portable.cc, gat_avx2.cc and gat_avx512.cc. kLanes
// divides the channels; kHeads is the number of heads where it is known when compiled, else 0.

#include "kernels/gat.h"
#include "kernels/simd.h"

namespace plimsoll {
namespace {

template <int kCount>
struct Count {
  static constexpr int value = kCount;
};

/// Calls step(Count<n>, v) for blocks of n <= 4 vectors that begin at vector v: as many as registers hold.
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

template <typename T, int kLanes>
PLIMSOLL_INLINE T dot(const T* a, const T* b, int64_t vectors) {
  using L = Lanes<T, kLanes>;
  typename L::Vec sum{};
  for (int64_t v = 0; v < vectors; ++v) sum += L::load(a + v * kLanes) * L::load(b + v * kLanes);
  return L::sum(sum);
}

/// out += factor * a
template <typename T, int kLanes>
PLIMSOLL_INLINE void add_scaled(T factor, const T* a, T* out, int64_t vectors) {
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

/// One target's edges: its own positions, then the self-loop that attention adds.
template <typename T>
struct Target {
  int64_t node;
  int64_t first;  // position
  int64_t edges;  // without the added self-loop
  int64_t all;    // with it

  Target(const Gat<T>& layer, int64_t i)
      : node(i),
        first(layer.order.in_ptr[i]),
        edges(layer.order.in_ptr[i + 1] - layer.order.in_ptr[i]),
        all(edges + (layer.loops ? 1 : 0)) {}

  int64_t source(const Gat<T>& layer, int64_t e) const {
    return e < edges ? layer.order.source[first + e] : node;
  }
  /// Row of alpha and of the handoff. Self-loops stand behind all edges.
  int64_t alpha_row(const Gat<T>& layer, int64_t e, int64_t all_edges) const {
    return e < edges ? layer.order.edge[first + e] : all_edges + node;
  }
};

/// What is computed per edge and head goes through all heads at once where their number is known.
template <typename T, int kLanes, int kHeads>
struct Rows {
  static constexpr int kHeadLanes = kHeads > 0 ? kHeads : 1;
  using H = Lanes<T, kHeadLanes>;
  using HeadVec = typename H::Vec;

  static PLIMSOLL_INLINE int64_t heads_of(const Gat<T>& layer) { return kHeads > 0 ? kHeads : layer.heads; }

  static PLIMSOLL_INLINE void clear(T* row, int64_t heads) {
    for (int64_t h = 0; h < heads; h += kHeadLanes) H::store(row + h, HeadVec{});
  }
  /// to += factor * row
  static PLIMSOLL_INLINE void add_heads(T factor, const T* row, T* to, int64_t heads) {
    for (int64_t h = 0; h < heads; h += kHeadLanes)
      H::store(to + h, H::load(to + h) + factor * H::load(row + h));
  }
  /// to *= row
  static PLIMSOLL_INLINE void multiply_heads(const T* row, T* to, int64_t heads) {
    for (int64_t h = 0; h < heads; h += kHeadLanes) H::store(to + h, H::load(to + h) * H::load(row + h));
  }

  /// factor[e, h] of all edges of a target; false where there is no dropout.
  static bool masks(const Gat<T>& layer, const Target<T>& target, T* factor) {
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

  /// l[e, h] of all edges of a target.
  static PLIMSOLL_INLINE void logits(const Gat<T>& layer, const Target<T>& target, T* l) {
    const int64_t heads = heads_of(layer);
    const int64_t features = layer.edge_features;
    T* const loop = l + target.edges * heads;
    if (layer.loops) clear(loop, heads);
    for (int64_t e = 0; e < target.edges; ++e) {
      const T* const f = layer.edge_attr + layer.order.edge[target.first + e] * features;
      for (int64_t h = 0; h < heads; h += kHeadLanes) {
        HeadVec sum{};
        for (int64_t k = 0; k < features; ++k) sum += f[k] * H::load(layer.q + k * heads + h);
        H::store(l + e * heads + h, sum);
      }
      if (layer.loops && layer.fill == LoopFill::mean) add_heads(1, l + e * heads, loop, heads);
    }
    if (layer.loops && layer.fill == LoopFill::mean && target.edges > 0)
      for (int64_t h = 0; h < heads; h += kHeadLanes)
        H::store(loop + h, H::load(loop + h) * (T(1) / static_cast<T>(target.edges)));
    if (layer.loops && layer.fill == LoopFill::value)
      for (int64_t k = 0; k < features; ++k) add_heads(layer.fill_value, layer.q + k * heads, loop, heads);
    for (int64_t e = 0; e < target.all; ++e) {
      const T* const s = layer.s + target.source(layer, e) * heads;
      for (int64_t h = 0; h < heads; h += kHeadLanes)
        H::store(l + e * heads + h,
                 H::load(l + e * heads + h) + (H::load(s + h) + H::load(layer.t + target.node * heads + h)));
    }
  }

  static void forward(const Gat<T>& layer, int64_t begin, int64_t end, T* scratch) {
    const int64_t heads = heads_of(layer);
    const int64_t width = heads * layer.channels;
    T* const a = scratch;
    T* const factor = scratch + (layer.order.most_in + 1) * heads;
    for (int64_t i = begin; i < end; ++i) {
      const Target<T> target(layer, i);
      logits(layer, target, a);
      softmax(layer, target, a);
      if (masks(layer, target, factor))
        for (int64_t e = 0; e < target.all; ++e) multiply_heads(factor + e * heads, a + e * heads, heads);
      for (int64_t h = 0; h < heads; ++h)
        sum_messages(layer, target, a + h, h * layer.channels, layer.out + i * width + h * layer.channels);
      if (layer.alpha == nullptr) continue;
      for (int64_t e = 0; e < target.all; ++e)
        for (int64_t h = 0; h < heads; ++h)
          layer.alpha[target.alpha_row(layer, e, layer.caller_edges) * heads + h] = a[e * heads + h];
    }
  }

  // Logits to alpha, and what backward needs to do it again.
  static PLIMSOLL_INLINE void softmax(const Gat<T>& layer, const Target<T>& target, T* a) {
    const int64_t heads = heads_of(layer);
    for (int64_t h = 0; h < heads; h += kHeadLanes) {
      HeadVec highest = HeadVec{} - (target.all > 0 ? static_cast<T>(__builtin_inf()) : T(0));
      for (int64_t e = 0; e < target.all; ++e) {
        const HeadVec l = H::load(a + e * heads + h);
        const HeadVec score = l > T(0) ? l : l * layer.slope;
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

  // One head: out = bias + sum_e weight_e z_j.
  static PLIMSOLL_INLINE void sum_messages(const Gat<T>& layer, const Target<T>& target, const T* weight,
                                           int64_t column, T* out) {
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
            const T* const z = layer.z + target.source(layer, e) * width + at;
            for (int k = 0; k < kVectors; ++k) sum[k] += w * L::load(z + k * kLanes);
          }
          for (int k = 0; k < kVectors; ++k) L::store(out + (v + k) * kLanes, sum[k]);
        });
  }

  static void backward(const Gat<T>& layer, const GatGradients<T>& gradients, int64_t begin, int64_t end,
                       T* scratch) {
    const int64_t heads = heads_of(layer);
    const int64_t channels = layer.channels;
    const int64_t width = heads * channels;
    const int64_t most = (layer.order.most_in + 1) * heads;
    T* const a = scratch;              // alpha
    T* const factor = scratch + most;  // of dropout
    T* const leak = factor + most;     // derivative of LeakyReLU
    T* const dl = leak + most;
    for (int64_t i = begin; i < end; ++i) {
      const Target<T> target(layer, i);
      const T* const grad = gradients.out + i * width;
      logits(layer, target, a);
      softmax_again(layer, target, a, leak);
      const bool masked = masks(layer, target, factor);
      // dl holds p_e = mask_e <grad_i, z_j>, the gradient of alpha_e, until delta is known.
      for (int64_t e = 0; e < target.all; ++e) {
        const T* const z = layer.z + target.source(layer, e) * width;
        for (int64_t h = 0; h < heads; ++h)
          dl[e * heads + h] = dot<T, kLanes>(grad + h * channels, z + h * channels, channels / kLanes);
        if (gradients.alpha != nullptr)
          add_heads(1, gradients.alpha + target.alpha_row(layer, e, layer.caller_edges) * heads,
                    dl + e * heads, heads);
        if (masked) multiply_heads(factor + e * heads, dl + e * heads, heads);
      }
      for (int64_t h = 0; h < heads; h += kHeadLanes) {
        HeadVec delta{};
        for (int64_t e = 0; e < target.all; ++e)
          delta += H::load(a + e * heads + h) * H::load(dl + e * heads + h);
        HeadVec dt{};
        for (int64_t e = 0; e < target.all; ++e) {
          const int64_t k = e * heads + h;
          const HeadVec d = H::load(a + k) * (H::load(dl + k) - delta) * H::load(leak + k);
          H::store(dl + k, d);
          dt += d;
        }
        H::store(gradients.t + i * heads + h, dt);
      }
      if (masked)
        for (int64_t e = 0; e < target.all; ++e) multiply_heads(factor + e * heads, a + e * heads, heads);
      pass_to_sources(layer, gradients, target, a, dl, grad);
      if (layer.edge_features > 0) pass_to_edges(layer, gradients, target, dl);
      if (gradients.bias != nullptr) add_scaled<T, kLanes>(1, grad, gradients.bias, width / kLanes);
    }
  }

  // Logits to alpha, from what forward kept.
  static PLIMSOLL_INLINE void softmax_again(const Gat<T>& layer, const Target<T>& target, T* a, T* leak) {
    const int64_t heads = heads_of(layer);
    for (int64_t h = 0; h < heads; h += kHeadLanes) {
      const HeadVec highest = H::load(layer.highest + target.node * heads + h);
      const HeadVec scale = H::load(layer.scale + target.node * heads + h);
      for (int64_t e = 0; e < target.all; ++e) {
        const HeadVec l = H::load(a + e * heads + h);
        const HeadVec slope = l > T(0) ? HeadVec{} + T(1) : HeadVec{} + layer.slope;
        H::store(leak + e * heads + h, slope);
        H::store(a + e * heads + h, exp_of_negative(H(), l * slope - highest) * scale);
      }
    }
  }

  // Of z and s: at once where the sources are this thread's own, else by way of the handoff.
  static PLIMSOLL_INLINE void pass_to_sources(const Gat<T>& layer, const GatGradients<T>& gradients,
                                              const Target<T>& target, const T* a, const T* dl,
                                              const T* grad) {
    const int64_t heads = heads_of(layer);
    const int64_t channels = layer.channels;
    for (int64_t e = 0; e < target.all; ++e) {
      if (gradients.handoff != nullptr) {
        const int64_t row = e < target.edges ? target.first + e : layer.order.edges + target.node;
        T* const to = gradients.handoff + row * 2 * heads;
        for (int64_t h = 0; h < heads; h += kHeadLanes) {
          H::store(to + h, H::load(a + e * heads + h));
          H::store(to + heads + h, H::load(dl + e * heads + h));
        }
        continue;
      }
      const int64_t j = target.source(layer, e);
      add_heads(1, dl + e * heads, gradients.s + j * heads, heads);
      T* const dz = gradients.z + j * heads * channels;
      for (int64_t h = 0; h < heads; ++h)
        add_scaled<T, kLanes>(a[e * heads + h], grad + h * channels, dz + h * channels, channels / kLanes);
    }
  }

  // Of q and edge_attr. A self-loop filled with the mean hands its share to each edge; dl is used up.
  static PLIMSOLL_INLINE void pass_to_edges(const Gat<T>& layer, const GatGradients<T>& gradients,
                                            const Target<T>& target, T* dl) {
    const int64_t heads = heads_of(layer);
    const int64_t features = layer.edge_features;
    const T* const loop = dl + target.edges * heads;
    if (layer.loops && layer.fill == LoopFill::value)
      for (int64_t k = 0; k < features; ++k)
        add_heads(layer.fill_value, loop, gradients.q + k * heads, heads);
    for (int64_t e = 0; e < target.edges; ++e) {
      T* const dc = dl + e * heads;
      if (layer.loops && layer.fill == LoopFill::mean)
        add_heads(T(1) / static_cast<T>(target.edges), loop, dc, heads);
      const int64_t edge = layer.order.edge[target.first + e];
      const T* const f = layer.edge_attr + edge * features;
      for (int64_t k = 0; k < features; ++k) add_heads(f[k], dc, gradients.q + k * heads, heads);
      if (gradients.edge_attr == nullptr) continue;
      for (int64_t k = 0; k < features; ++k) {
        T sum = 0;
        for (int64_t h = 0; h < heads; h += kHeadLanes)
          sum += H::sum(H::load(layer.q + k * heads + h) * H::load(dc + h));
        gradients.edge_attr[edge * features + k] = sum;
      }
    }
  }

  static void gather(const Gat<T>& layer, const GatGradients<T>& gradients, const int32_t* out_ptr,
                     const int32_t* position, const int32_t* target, int64_t begin, int64_t end) {
    const int64_t heads = heads_of(layer);
    const int64_t channels = layer.channels;
    const int64_t width = heads * channels;
    for (int64_t j = begin; j < end; ++j) {
      T* const ds = gradients.s + j * heads;
      T* const dz = gradients.z + j * width;
      clear(ds, heads);
      for (int64_t d = 0; d < width; ++d) dz[d] = 0;
      const int64_t last = out_ptr[j + 1] + (layer.loops && j < layer.order.targets ? 1 : 0);
      for (int64_t o = out_ptr[j]; o < last; ++o) {
        const bool loop = o == out_ptr[j + 1];
        const T* const from = gradients.handoff + (loop ? layer.order.edges + j : position[o]) * 2 * heads;
        const T* const grad = gradients.out + (loop ? j : target[o]) * width;
        add_heads(1, from + heads, ds, heads);
        for (int64_t h = 0; h < heads; ++h)
          add_scaled<T, kLanes>(from[h], grad + h * channels, dz + h * channels, channels / kLanes);
      }
    }
  }

  static void scores(const T* z, const T* att, int64_t heads, int64_t channels, int64_t begin, int64_t end,
                     T* out) {
    for (int64_t i = begin; i < end; ++i)
      for (int64_t h = 0; h < heads; ++h)
        out[i * heads + h] =
            dot<T, kLanes>(z + (i * heads + h) * channels, att + h * channels, channels / kLanes);
  }

  static void scores_backward(const T* z, const T* att, const T* dout, int64_t heads, int64_t channels,
                              int64_t begin, int64_t end, T* dz, T* datt) {
    for (int64_t i = begin; i < end; ++i)
      for (int64_t h = 0; h < heads; ++h) {
        const int64_t at = (i * heads + h) * channels;
        add_scaled<T, kLanes>(dout[i * heads + h], att + h * channels, dz + at, channels / kLanes);
        add_scaled<T, kLanes>(dout[i * heads + h], z + at, datt + h * channels, channels / kLanes);
      }
  }
};

/// The kernels with the widest vectors that divide the channels: the whole of `kBytes`, a half, or single
/// numbers. float64 is for tests and takes what is shortest to compile.
template <typename T, int kBytes, typename Call>
PLIMSOLL_INLINE void with_rows(int64_t heads, int64_t channels, Call call) {
  constexpr int kLanes = kBytes / static_cast<int>(sizeof(T));
  if constexpr (sizeof(T) == sizeof(double)) {
    if (channels % kLanes == 0) return call(Rows<T, kLanes, 0>());
    return call(Rows<T, 1, 0>());
  } else {
    const auto with_heads = [&](auto lanes) __attribute__((always_inline)) {
      constexpr int kUsed = decltype(lanes)::value;
      if (heads == 8) return call(Rows<T, kUsed, 8>());
      if (heads == 4) return call(Rows<T, kUsed, 4>());
      return call(Rows<T, kUsed, 0>());
    };
    if (channels % kLanes == 0) return with_heads(Count<kLanes>());
    if (channels % (kLanes / 2) == 0) return with_heads(Count<kLanes / 2>());
    return with_heads(Count<1>());
  }
}

template <typename T, int kBytes>
constexpr GatKernels<T> make_gat_kernels() {
  return {
      [](const T* z, const T* att, int64_t heads, int64_t channels, int64_t begin, int64_t end, T* out) {
        with_rows<T, kBytes>(heads, channels,
                             [&](auto rows) { rows.scores(z, att, heads, channels, begin, end, out); });
      },
      [](const Gat<T>& layer, int64_t begin, int64_t end, T* scratch) {
        with_rows<T, kBytes>(layer.heads, layer.channels,
                             [&](auto rows) { rows.forward(layer, begin, end, scratch); });
      },
      [](const Gat<T>& layer, const GatGradients<T>& gradients, int64_t begin, int64_t end, T* scratch) {
        with_rows<T, kBytes>(layer.heads, layer.channels,
                             [&](auto rows) { rows.backward(layer, gradients, begin, end, scratch); });
      },
      [](const Gat<T>& layer, const GatGradients<T>& gradients, const int32_t* out_ptr,
         const int32_t* position, const int32_t* target, int64_t begin, int64_t end) {
        with_rows<T, kBytes>(layer.heads, layer.channels, [&](auto rows) {
          rows.gather(layer, gradients, out_ptr, position, target, begin, end);
        });
      },
      [](const T* z, const T* att, const T* dout, int64_t heads, int64_t channels, int64_t begin, int64_t end,
         T* dz, T* datt) {
        with_rows<T, kBytes>(heads, channels, [&](auto rows) {
          rows.scores_backward(z, att, dout, heads, channels, begin, end, dz, datt);
        });
      },
  };
}

}  // namespace
}  // namespace plimsoll
