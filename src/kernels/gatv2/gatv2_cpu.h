#pragma once

// The kernels of gatv2.h, compiled once for each level (levels.h).

#include "kernels/attention/attention_cpu.h"
#include "kernels/gatv2/gatv2.h"

namespace plimsoll {
namespace {

template <typename T, typename Stored, int kLanes, int kHeads>
struct Gatv2Rows : AttentionRows<T, Stored, kLanes, kHeads> {
  using Base = AttentionRows<T, Stored, kLanes, kHeads>;
  using Base::heads_of;
  using L = Lanes<T, kLanes>;
  using Vec = typename L::Vec;
  using Number = Lanes<T, 1>;

  static PLIMSOLL_INLINE Vec leaky(Vec y, T slope) { return y > T(0) ? y : y * slope; }

  struct Scratch {
    T* y;       // [kGatv2Rows, H*D].
    T* loop;    // [K].
    T* dloop;   // [K].
    T* read;    // [kMaxBlock, K], features of some edges if they are not stored as T.
    T* a;       // [max edges, H].
    T* factor;  // [max edges, H].
    T* dl;      // [max edges, H].

    Scratch(const Gatv2<T, Stored>& layer, T* from)
        : y(from),
          loop(y + kGatv2Rows * layer.heads * layer.channels),
          dloop(loop + layer.edge_features),
          read(dloop + layer.edge_features),
          a(read + kMaxBlock * layer.edge_features),
          factor(a + (layer.order.max_in + 1) * layer.heads),
          dl(factor + (layer.order.max_in + 1) * layer.heads) {}
  };

  /// Returns the features of edge b of a block; those of an added self-loop are in buffer.loop.
  static PLIMSOLL_INLINE const T* features_of(const Gatv2<T, Stored>& layer, const Target<T, Stored>& target,
                                              int64_t e, const Scratch& buffer, int64_t b) {
    if (e == target.edges) return buffer.loop;
    const int64_t features = layer.edge_features;
    const Stored* const stored = layer.edge_attr + layer.order.edge[target.first + e] * features;
    if constexpr (sizeof(Stored) == sizeof(T)) {
      return stored;
    } else {
      T* const read = buffer.read + b * features;
      for (int64_t k = 0; k < features; ++k) read[k] = Number::load(stored + k);
      return read;
    }
  }

  static PLIMSOLL_INLINE void fill_loop(const Gatv2<T, Stored>& layer, const Target<T, Stored>& target,
                                        const Scratch& buffer) {
    T* const loop = buffer.loop;
    const int64_t features = layer.edge_features;
    for (int64_t k = 0; k < features; ++k) loop[k] = layer.fill == LoopFill::value ? layer.fill_value : T(0);
    if (layer.fill != LoopFill::mean || target.edges == 0) return;
    for (int64_t e = 0; e < target.edges; ++e) {
      const T* const f = features_of(layer, target, e, buffer, 0);
      for (int64_t k = 0; k < features; ++k) loop[k] += f[k];
    }
    for (int64_t k = 0; k < features; ++k) loop[k] *= T(1) / static_cast<T>(target.edges);
  }

  /// Computes y of `kEdges` edges from `first` on, one row after the other. Edge weights are loaded once for
  /// all of them.
  template <int kEdges>
  static PLIMSOLL_INLINE void rows_of(const Gatv2<T, Stored>& layer, const Target<T, Stored>& target,
                                      int64_t first, const Scratch& buffer, T* y) {
    const int64_t width = heads_of(layer) * layer.channels;
    const int64_t features = layer.edge_features;
    const Stored* z[kEdges];
    const T* f[kEdges];
    for (int e = 0; e < kEdges; ++e) {
      z[e] = layer.z + target.source(layer, first + e) * width;
      f[e] = features_of(layer, target, first + e, buffer, e);
    }
    const Stored* const to = layer.z_target + target.node * width;
    for (int64_t d = 0; d < width; d += kLanes) {
      const Vec base = L::load(to + d);
      Vec sum[kEdges];
      for (int e = 0; e < kEdges; ++e) sum[e] = base + L::load(z[e] + d);
      for (int64_t k = 0; k < features; ++k) {
        const Vec w = L::load(layer.edge_weight + k * width + d);
        for (int e = 0; e < kEdges; ++e) sum[e] += f[e][k] * w;
      }
      for (int e = 0; e < kEdges; ++e) L::store(y + e * width + d, sum[e]);
    }
  }

  /// Computes y of the edges first .. last-1 of a target into the rows of y.
  static PLIMSOLL_INLINE void all_rows(const Gatv2<T, Stored>& layer, const Target<T, Stored>& target,
                                       int64_t first, int64_t last, const Scratch& buffer, T* y) {
    const int64_t width = heads_of(layer) * layer.channels;
    in_blocks(
        last - first, [&](auto count, int64_t e) __attribute__((always_inline)) {
          rows_of<decltype(count)::value>(layer, target, first + e, buffer, y + e * width);
        });
  }

  /// Computes the scores of the edges first .. last-1 from their rows.
  static PLIMSOLL_INLINE void score_rows(const Gatv2<T, Stored>& layer, int64_t first, int64_t last,
                                         const T* y, T* scores) {
    const int64_t heads = heads_of(layer);
    const int64_t channels = layer.channels;
    for (int64_t e = first; e < last; ++e)
      for (int64_t h = 0; h < heads; ++h) {
        const T* const row = y + ((e - first) * heads + h) * channels;
        Vec sum{};
        for (int64_t d = 0; d < channels; d += kLanes)
          sum += leaky(L::load(row + d), layer.slope) * L::load(layer.att + h * channels + d);
        scores[e * heads + h] = L::sum(sum);
      }
  }

  /// Computes the scores of all edges of a target. The rows of the last edges, up to kGatv2Rows, stay in y.
  static PLIMSOLL_INLINE void all_scores(const Gatv2<T, Stored>& layer, const Target<T, Stored>& target,
                                         const Scratch& buffer, T* y, T* scores) {
    for (int64_t first = 0; first < target.all; first += kGatv2Rows) {
      const int64_t last = first + kGatv2Rows < target.all ? first + kGatv2Rows : target.all;
      all_rows(layer, target, first, last, buffer, y);
      score_rows(layer, first, last, y, scores);
    }
  }

  static void forward(const Gatv2<T, Stored>& layer, int64_t begin, int64_t end, T* scratch) {
    const Scratch buffer(layer, scratch);
    for (int64_t i = begin; i < end; ++i) {
      const Target<T, Stored> target(layer, i);
      Base::prefetch_next(layer, i + 1, end);
      if (layer.loops) fill_loop(layer, target, buffer);
      all_scores(layer, target, buffer, buffer.y, buffer.a);
      Base::template softmax<false>(layer, target, buffer.a);
      Base::write_out(layer, target, buffer.a, buffer.factor);
    }
  }

  static void backward(const Gatv2<T, Stored>& layer, const Gatv2Gradients<T, Stored>& gradients,
                       int64_t begin, int64_t end, T* scratch) {
    const int64_t heads = heads_of(layer);
    const int64_t width = heads * layer.channels;
    const Scratch buffer(layer, scratch);
    for (int64_t i = begin; i < end; ++i) {
      const Target<T, Stored> target(layer, i);
      const Stored* const grad = gradients.out + i * width;
      Base::prefetch_next(layer, i + 1, end);
      if (layer.loops) fill_loop(layer, target, buffer);
      for (int64_t k = 0; k < layer.edge_features; ++k) buffer.dloop[k] = 0;
      all_scores(layer, target, buffer, buffer.y, buffer.a);
      Base::template softmax_again<false>(layer, target, buffer.a, nullptr);
      Base::score_gradients(layer, gradients, target, buffer.a, buffer.factor, buffer.dl);
      for (int64_t first = 0; first < target.all; first += kGatv2Rows) {
        const int64_t last = first + kGatv2Rows < target.all ? first + kGatv2Rows : target.all;
        if (target.all > kGatv2Rows) all_rows(layer, target, first, last, buffer, buffer.y);
        for (int64_t e = first; e < last; ++e)
          pass_on(layer, gradients, target, e, buffer.a + e * heads, buffer.dl + e * heads, grad,
                  buffer.y + (e - first) * width);
        if (layer.edge_features > 0) pass_to_edges(layer, gradients, target, first, last, buffer);
      }
      if (layer.loops && layer.fill == LoopFill::mean && gradients.edge_attr != nullptr)
        for (int64_t e = 0; e < target.edges; ++e)
          for (int64_t k = 0; k < layer.edge_features; ++k)
            add_to(gradients.edge_attr + layer.order.edge[target.first + e] * layer.edge_features + k,
                   buffer.dloop[k] / static_cast<T>(target.edges));
      if (gradients.bias != nullptr) add_scaled<T, kLanes>(1, grad, gradients.bias, width / kLanes);
    }
  }

  static PLIMSOLL_INLINE void add_to(Stored* at, T value) { Number::store(at, Number::load(at) + value); }

  // Runs one edge backward. Its y becomes dy = dl att leaky'(y). Adds the edge's parts to the gradients of
  // att, the target and the source.
  static PLIMSOLL_INLINE void pass_on(const Gatv2<T, Stored>& layer,
                                      const Gatv2Gradients<T, Stored>& gradients,
                                      const Target<T, Stored>& target, int64_t e, const T* a, const T* dl,
                                      const Stored* grad, T* y) {
    const int64_t heads = heads_of(layer);
    const int64_t channels = layer.channels;
    if (gradients.handoff != nullptr)
      Base::hand_off(layer, gradients, target, e, a - e * heads, dl - e * heads);
    T* const dz =
        gradients.handoff != nullptr ? nullptr : gradients.z + target.source(layer, e) * heads * channels;
    T* const dz_target = gradients.z_target + target.node * heads * channels;
    for (int64_t h = 0; h < heads; ++h) {
      const Vec d = L::all(dl[h]);
      const Vec alpha = L::all(a[h]);
      for (int64_t c = h * channels; c < (h + 1) * channels; c += kLanes) {
        const Vec value = L::load(y + c);
        const Vec att = L::load(layer.att + c);
        const Vec dy = d * att * (value > T(0) ? L::all(1) : L::all(layer.slope));
        L::store(gradients.att + c, L::load(gradients.att + c) + d * leaky(value, layer.slope));
        L::store(dz_target + c, L::load(dz_target + c) + dy);
        // The row is loaded again, because z and z_target have the same gradient if they share weights.
        if (dz != nullptr) L::store(dz + c, L::load(dz + c) + (alpha * L::load(grad + c) + dy));
        L::store(y + c, dy);
      }
    }
  }

  // Passes dy of the edges first .. last-1 to edge_weight and edge_attr.
  static PLIMSOLL_INLINE void pass_to_edges(const Gatv2<T, Stored>& layer,
                                            const Gatv2Gradients<T, Stored>& gradients,
                                            const Target<T, Stored>& target, int64_t first, int64_t last,
                                            const Scratch& buffer) {
    const int64_t width = heads_of(layer) * layer.channels;
    const int64_t features = layer.edge_features;
    in_blocks(
        last - first, [&](auto count, int64_t b) __attribute__((always_inline)) {
          constexpr int kEdges = decltype(count)::value;
          const T* const dy = buffer.y + b * width;
          const T* f[kEdges];
          for (int e = 0; e < kEdges; ++e) f[e] = features_of(layer, target, first + b + e, buffer, e);
          for (int64_t d = 0; d < width; d += kLanes) {
            Vec rows[kEdges];
            for (int e = 0; e < kEdges; ++e) rows[e] = L::load(dy + e * width + d);
            for (int64_t k = 0; k < features; ++k) {
              T* const to = gradients.edge_weight + k * width + d;
              Vec sum = L::load(to);
              for (int e = 0; e < kEdges; ++e) sum += f[e][k] * rows[e];
              L::store(to, sum);
            }
          }
        });
    if (gradients.edge_attr == nullptr) return;
    for (int64_t e = first; e < last; ++e)
      for (int64_t k = 0; k < features; ++k) {
        const T df =
            dot<T, kLanes>(buffer.y + (e - first) * width, layer.edge_weight + k * width, width / kLanes);
        if (e < target.edges)
          Number::store(gradients.edge_attr + layer.order.edge[target.first + e] * features + k, df);
        else
          buffer.dloop[k] = df;
      }
  }

  static void gather(const Gatv2<T, Stored>& layer, const Gatv2Gradients<T, Stored>& gradients,
                     const OutEdges& edges, int64_t begin, int64_t end, T* scratch) {
    const int64_t heads = heads_of(layer);
    const int64_t channels = layer.channels;
    const int64_t width = heads * channels;
    const Scratch buffer(layer, scratch);
    for (int64_t j = begin; j < end; ++j) {
      T* const dz = gradients.z + j * width;
      if (j + 1 < end) prefetch_rows(gradients.out, width, edges.target, edges.ptr[j + 1], edges.ptr[j + 2]);
      const int64_t last = edges.ptr[j + 1] + (layer.loops && j < layer.order.targets ? 1 : 0);
      for (int64_t o = edges.ptr[j]; o < last; ++o) {
        const bool loop = o == edges.ptr[j + 1];
        const Target<T, Stored> target(layer, loop ? j : edges.target[o]);
        const int64_t e = loop ? target.edges : edges.position[o] - target.first;
        const T* const from = gradients.handoff + target.handoff_row(layer, e) * 2 * heads;
        const Stored* const grad = gradients.out + target.node * width;
        if (loop) fill_loop(layer, target, buffer);
        rows_of<1>(layer, target, e, buffer, buffer.y);
        for (int64_t h = 0; h < heads; ++h)
          for (int64_t c = h * channels; c < (h + 1) * channels; c += kLanes) {
            const Vec slope = L::load(buffer.y + c) > T(0) ? L::all(1) : L::all(layer.slope);
            const Vec dy = from[heads + h] * L::load(layer.att + c) * slope;
            L::store(dz + c, L::load(dz + c) + (from[h] * L::load(grad + c) + dy));
          }
      }
    }
  }
};

template <typename T, typename Stored, int kBytes>
constexpr Gatv2Kernels<T, Stored> make_gatv2_kernels() {
  return {
      [](const Gatv2<T, Stored>& layer, int64_t begin, int64_t end, T* scratch) {
        with_rows<Gatv2Rows, T, Stored, kBytes>(layer.heads, layer.channels,
                                                [&](auto rows) { rows.forward(layer, begin, end, scratch); });
      },
      [](const Gatv2<T, Stored>& layer, const Gatv2Gradients<T, Stored>& gradients, int64_t begin,
         int64_t end, T* scratch) {
        with_rows<Gatv2Rows, T, Stored, kBytes>(layer.heads, layer.channels, [&](auto rows) {
          rows.backward(layer, gradients, begin, end, scratch);
        });
      },
      [](const Gatv2<T, Stored>& layer, const Gatv2Gradients<T, Stored>& gradients, const OutEdges& edges,
         int64_t begin, int64_t end, T* scratch) {
        with_rows<Gatv2Rows, T, Stored, kBytes>(layer.heads, layer.channels, [&](auto rows) {
          rows.gather(layer, gradients, edges, begin, end, scratch);
        });
      },
  };
}

}  // namespace

namespace PLIMSOLL_LEVEL {
extern const Gatv2Kernels<float> gatv2_f32 = make_gatv2_kernels<float, float, PLIMSOLL_VECTOR_BYTES>();
extern const Gatv2Kernels<double> gatv2_f64 = make_gatv2_kernels<double, double, PLIMSOLL_VECTOR_BYTES>();
extern const Gatv2Kernels<float, BFloat16> gatv2_bf16 =
    make_gatv2_kernels<float, BFloat16, PLIMSOLL_VECTOR_BYTES>();
}  // namespace PLIMSOLL_LEVEL

}  // namespace plimsoll
