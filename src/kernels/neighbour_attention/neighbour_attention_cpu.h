#pragma once

// The kernels of neighbour_attention.h, compiled once for each level (levels.h).

#include "kernels/neighbour_attention/neighbour_attention.h"
#include "kernels/simd.h"

namespace plimsoll {
namespace {

template <typename T, int kLanes>
struct NeighbourAttentionRows {
  using L = Lanes<T, kLanes>;
  using Vec = typename L::Vec;
  using Layer = NeighbourAttention<T>;
  using Gradients = NeighbourAttentionGradients<T>;

  static PLIMSOLL_INLINE T exp_of(T x) { return exp_of_negative(Lanes<T, 1>(), x); }
  static PLIMSOLL_INLINE Vec leaky(Vec y, T slope) { return y > T(0) ? y : y * slope; }

  // One head of one target: the channels from `channel` on.
  struct Head {
    int64_t first, last;  // Positions of the edges in the order.
    int64_t channel;
    int64_t row;    // Index of the first channel of the target.
    int64_t place;  // Index in log_sum.

    Head(const Layer& layer, int64_t target, int64_t head)
        : first(layer.order.in_ptr[target]),
          last(layer.order.in_ptr[target + 1]),
          channel(head * layer.channels),
          row(target * layer.heads * layer.channels + channel),
          place(target * layer.heads + head) {}

    int64_t source_row(const Layer& layer, int64_t edge) const {
      return layer.order.source[edge] * layer.heads * layer.channels + channel;
    }
  };

  static PLIMSOLL_INLINE T dot(const T* a, const T* b, int64_t channels) {
    Vec sum{};
    for (int64_t c = 0; c < channels; c += kLanes) sum += L::load(a + c) * L::load(b + c);
    return L::sum(sum);
  }

  static PLIMSOLL_INLINE T score(const Layer& layer, const Head& head, int64_t source_row) {
    const T* const key = layer.key + source_row;
    const T* const query = layer.query + head.row;
    if (layer.att == nullptr) return dot(query, key, layer.channels);
    Vec sum{};
    for (int64_t c = 0; c < layer.channels; c += kLanes)
      sum +=
          leaky(L::load(key + c) + L::load(query + c), layer.slope) * L::load(layer.att + head.channel + c);
    return L::sum(sum);
  }

  // Writes a x + b y to x.
  static PLIMSOLL_INLINE void combine(T a, T* x, T b, const T* y, int64_t channels) {
    for (int64_t c = 0; c < channels; c += kLanes)
      L::store(x + c, L::all(a) * L::load(x + c) + L::all(b) * L::load(y + c));
  }

  // Visits the edges once: sums are relative to the highest score so far, and are rescaled if it rises.
  static PLIMSOLL_INLINE void forward(const Layer& layer, const Head& head) {
    T* const out = layer.out + head.row;
    for (int64_t c = 0; c < layer.channels; c += kLanes) L::store(out + c, Vec{});
    T highest = T(kNoEdges);
    T sum = 0;
    for (int64_t e = head.first; e < head.last; ++e) {
      const int64_t from = head.source_row(layer, e);
      const T s = score(layer, head, from);
      const bool rises = !(s <= highest);  // A score that is NaN stays visible.
      const T before = rises ? exp_of(highest - s) : T(1);
      const T weight = rises ? T(1) : exp_of(s - highest);
      if (rises) highest = s;
      sum = sum * before + weight;
      combine(before, out, weight, layer.value + from, layer.channels);
    }
    layer.log_sum[head.place] = head.first == head.last ? T(kNoEdges) : highest + static_cast<T>(::log(sum));
    if (head.first == head.last) return;
    for (int64_t c = 0; c < layer.channels; c += kLanes) L::store(out + c, L::load(out + c) / L::all(sum));
  }

  static void forward_rows(const Layer& layer, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      for (int64_t h = 0; h < layer.heads; ++h) forward(layer, Head(layer, i, h));
  }

  // Adds the gradients of key, query and att for an edge whose score has the gradient ds.
  static PLIMSOLL_INLINE void pass_score(const Layer& layer, const Gradients& to, const Head& head,
                                         int64_t from, T ds) {
    const Vec d = L::all(ds);
    for (int64_t c = 0; c < layer.channels; c += kLanes) {
      const Vec key = L::load(layer.key + from + c);
      const Vec query = L::load(layer.query + head.row + c);
      T* const dkey = to.key + from + c;
      T* const dquery = to.query + head.row + c;
      if (layer.att == nullptr) {
        L::store(dkey, L::load(dkey) + d * query);
        L::store(dquery, L::load(dquery) + d * key);
        continue;
      }
      const Vec y = key + query;
      T* const datt = to.att + head.channel + c;
      L::store(datt, L::load(datt) + d * leaky(y, layer.slope));
      const Vec slope = y > T(0) ? L::all(1) : L::all(layer.slope);
      const Vec dy = d * L::load(layer.att + head.channel + c) * slope;
      L::store(dkey, L::load(dkey) + dy);
      L::store(dquery, L::load(dquery) + dy);
    }
  }

  static PLIMSOLL_INLINE void backward(const Layer& layer, const Gradients& to, const Head& head) {
    const T* const dout = to.out + head.row;
    // What the gradients of all weights of the target have in common.
    const T common = dot(dout, layer.out + head.row, layer.channels) -
                     (to.log_sum == nullptr ? T(0) : to.log_sum[head.place]);
    for (int64_t e = head.first; e < head.last; ++e) {
      const int64_t from = head.source_row(layer, e);
      const T alpha = exp_of(score(layer, head, from) - layer.log_sum[head.place]);
      const T ds = alpha * (dot(dout, layer.value + from, layer.channels) - common);
      combine(T(1), to.value + from, alpha, dout, layer.channels);
      pass_score(layer, to, head, from, ds);
    }
  }

  static void backward_heads(const Layer& layer, const Gradients& to, int64_t begin, int64_t end) {
    for (int64_t i = 0; i < layer.order.targets; ++i)
      for (int64_t h = begin; h < end; ++h) backward(layer, to, Head(layer, i, h));
  }
};

// Calls work() with the widest vectors of which a head is a multiple.
template <typename T, int kLanes, typename Work>
PLIMSOLL_INLINE void with_widest_rows(int64_t channels, const Work& work) {
  if constexpr (kLanes > 2) {
    if (channels % kLanes != 0) return with_widest_rows<T, kLanes / 2>(channels, work);
    work(NeighbourAttentionRows<T, kLanes>());
  } else {
    work(NeighbourAttentionRows<T, 1>());
  }
}

template <typename T, int kLanes>
constexpr NeighbourAttentionKernels<T> make_neighbour_attention_kernels() {
  return {
      [](const NeighbourAttention<T>& layer, int64_t begin, int64_t end) {
        with_widest_rows<T, kLanes>(layer.channels, [&](auto rows) { rows.forward_rows(layer, begin, end); });
      },
      [](const NeighbourAttention<T>& layer, const NeighbourAttentionGradients<T>& gradients, int64_t begin,
         int64_t end) {
        with_widest_rows<T, kLanes>(layer.channels,
                                    [&](auto rows) { rows.backward_heads(layer, gradients, begin, end); });
      },
  };
}

}  // namespace

namespace PLIMSOLL_LEVEL {
extern const NeighbourAttentionKernels<float> neighbour_attention_f32 =
    make_neighbour_attention_kernels<float, PLIMSOLL_VECTOR_BYTES / 4>();
extern const NeighbourAttentionKernels<double> neighbour_attention_f64 =
    make_neighbour_attention_kernels<double, PLIMSOLL_VECTOR_BYTES / 8>();
}  // namespace PLIMSOLL_LEVEL

}  // namespace plimsoll
