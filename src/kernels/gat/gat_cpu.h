#pragma once

// The kernels of gat.h, compiled once for each level (levels.h).

#include "kernels/attention/attention_cpu.h"
#include "kernels/gat/gat.h"

namespace plimsoll {
namespace {

template <typename T, typename Stored, int kLanes, int kHeads>
struct GatRows : AttentionRows<T, Stored, kLanes, kHeads> {
  using Base = AttentionRows<T, Stored, kLanes, kHeads>;
  using Base::add_heads, Base::clear, Base::heads_of, Base::kHeadLanes;
  using typename Base::H, typename Base::HeadVec;
  using Number = Lanes<T, 1>;

  /// Computes the logits l[e, h] of all edges of a target.
  static PLIMSOLL_INLINE void logits(const Gat<T, Stored>& layer, const Target<T, Stored>& target, T* l) {
    const int64_t heads = heads_of(layer);
    const int64_t features = layer.edge_features;
    T* const loop = l + target.edges * heads;
    if (layer.loops) clear(loop, heads);
    for (int64_t e = 0; e < target.edges; ++e) {
      const Stored* const f = layer.edge_attr + layer.order.edge[target.first + e] * features;
      for (int64_t h = 0; h < heads; h += kHeadLanes) {
        HeadVec sum{};
        for (int64_t k = 0; k < features; ++k) sum += Number::load(f + k) * H::load(layer.q + k * heads + h);
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

  static void forward(const Gat<T, Stored>& layer, int64_t begin, int64_t end, T* scratch) {
    T* const a = scratch;
    T* const factor = scratch + (layer.order.max_in + 1) * heads_of(layer);
    for (int64_t i = begin; i < end; ++i) {
      const Target<T, Stored> target(layer, i);
      Base::prefetch_next(layer, i + 1, end);
      logits(layer, target, a);
      Base::template softmax<true>(layer, target, a);
      Base::write_out(layer, target, a, factor);
    }
  }

  static void backward(const Gat<T, Stored>& layer, const GatGradients<T, Stored>& gradients, int64_t begin,
                       int64_t end, T* scratch) {
    const int64_t heads = heads_of(layer);
    const int64_t width = heads * layer.channels;
    const int64_t max = (layer.order.max_in + 1) * heads;
    T* const a = scratch;             // alpha.
    T* const factor = scratch + max;  // Factors of dropout.
    T* const leak = factor + max;     // Derivatives of LeakyReLU.
    T* const dl = leak + max;
    for (int64_t i = begin; i < end; ++i) {
      const Target<T, Stored> target(layer, i);
      const Stored* const grad = gradients.out + i * width;
      Base::prefetch_next(layer, i + 1, end);
      logits(layer, target, a);
      Base::template softmax_again<true>(layer, target, a, leak);
      Base::score_gradients(layer, gradients, target, a, factor, dl);
      clear(gradients.t + i * heads, heads);
      for (int64_t e = 0; e < target.all; ++e) {
        Base::multiply_heads(leak + e * heads, dl + e * heads, heads);
        add_heads(1, dl + e * heads, gradients.t + i * heads, heads);
        if (gradients.handoff != nullptr) {
          Base::hand_off(layer, gradients, target, e, a, dl);
          continue;
        }
        const int64_t j = target.source(layer, e);
        add_heads(1, dl + e * heads, gradients.s + j * heads, heads);
        Base::pass_to_source(layer, a + e * heads, grad, gradients.z + j * width);
      }
      if (layer.edge_features > 0) pass_to_edges(layer, gradients, target, dl);
      if (gradients.bias != nullptr) add_scaled<T, kLanes>(1, grad, gradients.bias, width / kLanes);
    }
  }

  // Computes the gradients of q and edge_attr. A self-loop filled with the mean passes its gradient on to the
  // edges in equal shares. Overwrites dl.
  static PLIMSOLL_INLINE void pass_to_edges(const Gat<T, Stored>& layer,
                                            const GatGradients<T, Stored>& gradients,
                                            const Target<T, Stored>& target, T* dl) {
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
      const Stored* const f = layer.edge_attr + edge * features;
      for (int64_t k = 0; k < features; ++k)
        add_heads(Number::load(f + k), dc, gradients.q + k * heads, heads);
      if (gradients.edge_attr == nullptr) continue;
      for (int64_t k = 0; k < features; ++k) {
        T sum = 0;
        for (int64_t h = 0; h < heads; h += kHeadLanes)
          sum += H::sum(H::load(layer.q + k * heads + h) * H::load(dc + h));
        Number::store(gradients.edge_attr + edge * features + k, sum);
      }
    }
  }

  static void gather(const Gat<T, Stored>& layer, const GatGradients<T, Stored>& gradients,
                     const OutEdges& edges, int64_t begin, int64_t end) {
    const int64_t heads = heads_of(layer);
    const int64_t width = heads * layer.channels;
    for (int64_t j = begin; j < end; ++j) {
      T* const ds = gradients.s + j * heads;
      T* const dz = gradients.z + j * width;
      if (j + 1 < end) prefetch_rows(gradients.out, width, edges.target, edges.ptr[j + 1], edges.ptr[j + 2]);
      clear(ds, heads);
      for (int64_t d = 0; d < width; ++d) dz[d] = 0;
      const int64_t last = edges.ptr[j + 1] + (layer.loops && j < layer.order.targets ? 1 : 0);
      for (int64_t o = edges.ptr[j]; o < last; ++o) {
        const bool loop = o == edges.ptr[j + 1];
        const T* const from =
            gradients.handoff + (loop ? layer.order.edges + j : edges.position[o]) * 2 * heads;
        add_heads(1, from + heads, ds, heads);
        Base::pass_to_source(layer, from, gradients.out + (loop ? j : edges.target[o]) * width, dz);
      }
    }
  }

  static void scores(const Stored* z, const ScorePair<const T>& att, int64_t heads, int64_t channels,
                     int64_t begin, int64_t end, const ScorePair<T>& to) {
    const int64_t vectors = channels / kLanes;
    for (int64_t i = begin; i < end; ++i)
      for (int64_t h = 0; h < heads; ++h) {
        const Stored* const row = z + (i * heads + h) * channels;
        to.source[i * heads + h] = dot<T, kLanes>(row, att.source + h * channels, vectors);
        if (att.target != nullptr)
          to.target[i * heads + h] = dot<T, kLanes>(row, att.target + h * channels, vectors);
      }
  }

  static void scores_backward(const Stored* z, const ScorePair<const T>& att, const ScorePair<const T>& given,
                              int64_t heads, int64_t channels, int64_t begin, int64_t end, T* dz,
                              const ScorePair<T>& datt) {
    const auto add = [&](T gradient, int64_t h, int64_t at, const T* a, T* da)
        __attribute__((always_inline)) {
      add_scaled<T, kLanes>(gradient, a + h * channels, dz + at, channels / kLanes);
      add_scaled<T, kLanes>(gradient, z + at, da + h * channels, channels / kLanes);
    };
    for (int64_t i = begin; i < end; ++i)
      for (int64_t h = 0; h < heads; ++h) {
        const int64_t at = (i * heads + h) * channels;
        add(given.source[i * heads + h], h, at, att.source, datt.source);
        if (att.target != nullptr) add(given.target[i * heads + h], h, at, att.target, datt.target);
      }
  }
};

template <typename T, typename Stored, int kBytes>
constexpr GatKernels<T, Stored> make_gat_kernels() {
  return {
      [](const Stored* z, const ScorePair<const T>& att, int64_t heads, int64_t channels, int64_t begin,
         int64_t end, const ScorePair<T>& to) {
        with_rows<GatRows, T, Stored, kBytes>(
            heads, channels, [&](auto rows) { rows.scores(z, att, heads, channels, begin, end, to); });
      },
      [](const Gat<T, Stored>& layer, int64_t begin, int64_t end, T* scratch) {
        with_rows<GatRows, T, Stored, kBytes>(layer.heads, layer.channels,
                                              [&](auto rows) { rows.forward(layer, begin, end, scratch); });
      },
      [](const Gat<T, Stored>& layer, const GatGradients<T, Stored>& gradients, int64_t begin, int64_t end,
         T* scratch) {
        with_rows<GatRows, T, Stored, kBytes>(layer.heads, layer.channels, [&](auto rows) {
          rows.backward(layer, gradients, begin, end, scratch);
        });
      },
      [](const Gat<T, Stored>& layer, const GatGradients<T, Stored>& gradients, const OutEdges& edges,
         int64_t begin, int64_t end) {
        with_rows<GatRows, T, Stored, kBytes>(layer.heads, layer.channels, [&](auto rows) {
          rows.gather(layer, gradients, edges, begin, end);
        });
      },
      [](const Stored* z, const ScorePair<const T>& att, const ScorePair<const T>& given, int64_t heads,
         int64_t channels, int64_t begin, int64_t end, T* dz, const ScorePair<T>& datt) {
        with_rows<GatRows, T, Stored, kBytes>(heads, channels, [&](auto rows) {
          rows.scores_backward(z, att, given, heads, channels, begin, end, dz, datt);
        });
      },
  };
}

}  // namespace

namespace PLIMSOLL_LEVEL {
extern const GatKernels<float> gat_f32 = make_gat_kernels<float, float, PLIMSOLL_VECTOR_BYTES>();
extern const GatKernels<double> gat_f64 = make_gat_kernels<double, double, PLIMSOLL_VECTOR_BYTES>();
extern const GatKernels<float, BFloat16> gat_bf16 =
    make_gat_kernels<float, BFloat16, PLIMSOLL_VECTOR_BYTES>();
}  // namespace PLIMSOLL_LEVEL

}  // namespace plimsoll
