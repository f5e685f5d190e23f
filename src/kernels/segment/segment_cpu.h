#pragma once

// The kernels of segment.h, compiled once for each level (levels.h).

#include "kernels/segment/segment.h"
#include "kernels/simd.h"

namespace plimsoll {
namespace {

/// Calls step(lanes, c) for columns c in whole vectors, then for single columns.
template <typename T, int kLanes, typename Step>
PLIMSOLL_INLINE void by_columns(int64_t features, Step step) {
  int64_t c = 0;
  for (; c + kLanes <= features; c += kLanes) step(Lanes<T, kLanes>(), c);
  for (; c < features; ++c) step(Lanes<T, 1>(), c);
}

template <typename T, int kLanes>
struct SegmentRows {
  static void reduce(const T* x, const int64_t* ptr, int64_t features, Reduce kind, int64_t begin,
                     int64_t end, T* out) {
    for (int64_t g = begin; g < end; ++g) {
      const int64_t rows = ptr[g + 1] - ptr[g];
      by_columns<T, kLanes>(
          features, [&](auto lanes, int64_t c) __attribute__((always_inline)) {
            using L = decltype(lanes);
            const T* const first = x + ptr[g] * features + c;
            typename L::Vec result{};
            if (kind == Reduce::max) {
              if (rows > 0) result = L::load(first);
              for (int64_t n = 1; n < rows; ++n) {
                const typename L::Vec value = L::load(first + n * features);
                // NaN is kept wherever it occurs, as in torch.
                result = (value > result) | (value != value) ? value : result;
              }
            } else {
              for (int64_t n = 0; n < rows; ++n) result += L::load(first + n * features);
              if (kind == Reduce::mean && rows > 0) result = result / static_cast<T>(rows);
            }
            L::store(out + g * features + c, result);
          });
    }
  }

  static void reduce_backward(const T* dout, const T* x, const T* out, const int64_t* ptr, int64_t features,
                              Reduce kind, int64_t begin, int64_t end, T* dx) {
    for (int64_t g = begin; g < end; ++g) {
      const int64_t rows = ptr[g + 1] - ptr[g];
      by_columns<T, kLanes>(
          features, [&](auto lanes, int64_t c) __attribute__((always_inline)) {
            using L = decltype(lanes);
            const int64_t first = ptr[g] * features + c;
            typename L::Vec d = L::load(dout + g * features + c);
            if (kind != Reduce::max) {
              if (kind == Reduce::mean && rows > 0) d = d / static_cast<T>(rows);
              for (int64_t n = 0; n < rows; ++n) L::store(dx + first + n * features, d);
              return;
            }
            const typename L::Vec max = L::load(out + g * features + c);
            const typename L::Vec one = L::all(1);
            typename L::Vec reached{};
            for (int64_t n = 0; n < rows; ++n)
              reached += L::load(x + first + n * features) == max ? one : typename L::Vec{};
            for (int64_t n = 0; n < rows; ++n)
              L::store(dx + first + n * features,
                       L::load(x + first + n * features) == max ? d / reached : typename L::Vec{});
          });
    }
  }

  static void softmax(const T* x, const int64_t* ptr, int64_t features, int64_t begin, int64_t end, T* out) {
    for (int64_t g = begin; g < end; ++g) {
      const int64_t rows = ptr[g + 1] - ptr[g];
      by_columns<T, kLanes>(
          features, [&](auto lanes, int64_t c) __attribute__((always_inline)) {
            using L = decltype(lanes);
            const int64_t first = ptr[g] * features + c;
            if (rows == 0) return;
            typename L::Vec highest = L::load(x + first);
            for (int64_t n = 1; n < rows; ++n) {
              const typename L::Vec value = L::load(x + first + n * features);
              highest = value > highest ? value : highest;
            }
            typename L::Vec sum{};
            for (int64_t n = 0; n < rows; ++n) {
              const typename L::Vec power = exp_of_negative(L(), L::load(x + first + n * features) - highest);
              L::store(out + first + n * features, power);
              sum += power;
            }
            const typename L::Vec scale = T(1) / sum;
            for (int64_t n = 0; n < rows; ++n)
              L::store(out + first + n * features, L::load(out + first + n * features) * scale);
          });
    }
  }

  static void softmax_backward(const T* dout, const T* out, const int64_t* ptr, int64_t features,
                               int64_t begin, int64_t end, T* dx) {
    for (int64_t g = begin; g < end; ++g) {
      const int64_t rows = ptr[g + 1] - ptr[g];
      by_columns<T, kLanes>(
          features, [&](auto lanes, int64_t c) __attribute__((always_inline)) {
            using L = decltype(lanes);
            const int64_t first = ptr[g] * features + c;
            typename L::Vec delta{};
            for (int64_t n = 0; n < rows; ++n)
              delta += L::load(out + first + n * features) * L::load(dout + first + n * features);
            for (int64_t n = 0; n < rows; ++n) {
              const int64_t at = first + n * features;
              L::store(dx + at, L::load(out + at) * (L::load(dout + at) - delta));
            }
          });
    }
  }

  static void graph_norm(const T* x, const int64_t* ptr, int64_t features, const T* weight, const T* bias,
                         const T* mean_scale, T eps, int64_t begin, int64_t end, T* out, T* mean, T* r) {
    for (int64_t g = begin; g < end; ++g) {
      const int64_t rows = ptr[g + 1] - ptr[g];
      const T share = rows > 0 ? T(1) / static_cast<T>(rows) : T(0);
      by_columns<T, kLanes>(
          features, [&](auto lanes, int64_t c) __attribute__((always_inline)) {
            using L = decltype(lanes);
            const int64_t first = ptr[g] * features + c;
            typename L::Vec sum{};
            for (int64_t n = 0; n < rows; ++n) sum += L::load(x + first + n * features);
            const typename L::Vec middle = sum * share;
            const typename L::Vec shift = middle * L::load(mean_scale + c);
            typename L::Vec squares{};
            for (int64_t n = 0; n < rows; ++n) {
              const typename L::Vec y = L::load(x + first + n * features) - shift;
              squares += y * y;
            }
            const typename L::Vec scale = T(1) / root(lanes, squares * share + eps);
            L::store(mean + g * features + c, middle);
            L::store(r + g * features + c, scale);
            const typename L::Vec factor = scale * L::load(weight + c);
            for (int64_t n = 0; n < rows; ++n) {
              const int64_t at = first + n * features;
              L::store(out + at, (L::load(x + at) - shift) * factor + L::load(bias + c));
            }
          });
    }
  }

  // With n rows, y and r as in graph_norm, and s = sum of g y, the gradients are
  //     dy = w r (g - y r^2 s / n),   dx = dy - mean_scale / n sum of dy,   dmean_scale = -mean sum of dy
  static void graph_norm_backward(const T* dout, const T* x, const int64_t* ptr, int64_t features,
                                  const T* weight, const T* mean_scale, const T* mean, const T* r,
                                  int64_t begin, int64_t end, T* dx, T* dweight, T* dbias, T* dmean_scale) {
    for (int64_t g = begin; g < end; ++g) {
      const int64_t rows = ptr[g + 1] - ptr[g];
      if (rows == 0) continue;
      const T share = T(1) / static_cast<T>(rows);
      by_columns<T, kLanes>(
          features, [&](auto lanes, int64_t c) __attribute__((always_inline)) {
            using L = decltype(lanes);
            const int64_t first = ptr[g] * features + c;
            const typename L::Vec middle = L::load(mean + g * features + c);
            const typename L::Vec scale = L::load(r + g * features + c);
            const typename L::Vec shift = middle * L::load(mean_scale + c);
            typename L::Vec grad_sum{};
            typename L::Vec product_sum{};
            for (int64_t n = 0; n < rows; ++n) {
              const typename L::Vec d = L::load(dout + first + n * features);
              grad_sum += d;
              product_sum += d * (L::load(x + first + n * features) - shift);
            }
            L::store(dbias + c, L::load(dbias + c) + grad_sum);
            L::store(dweight + c, L::load(dweight + c) + product_sum * scale);
            const typename L::Vec factor = L::load(weight + c) * scale;
            const typename L::Vec back = product_sum * scale * scale * share;
            typename L::Vec dy_sum{};
            for (int64_t n = 0; n < rows; ++n) {
              const int64_t at = first + n * features;
              const typename L::Vec dy = factor * (L::load(dout + at) - (L::load(x + at) - shift) * back);
              dy_sum += dy;
              L::store(dx + at, dy);
            }
            L::store(dmean_scale + c, L::load(dmean_scale + c) - middle * dy_sum);
            const typename L::Vec rest = L::load(mean_scale + c) * share * dy_sum;
            for (int64_t n = 0; n < rows; ++n)
              L::store(dx + first + n * features, L::load(dx + first + n * features) - rest);
          });
    }
  }

  template <typename L>
  static PLIMSOLL_INLINE typename L::Vec root(L, typename L::Vec v) {
    if constexpr (sizeof(v) == sizeof(T)) {
      return static_cast<T>(::sqrt(static_cast<double>(v)));
    } else {
      // Rounding the square root in double to float gives the same result as sqrt in float, because float has
      // less than half of double's digits.
      for (size_t i = 0; i < sizeof(v) / sizeof(T); ++i)
        v[i] = static_cast<T>(::sqrt(static_cast<double>(v[i])));
      return v;
    }
  }
};

template <typename T, int kBytes>
constexpr SegmentKernels<T> make_segment_kernels() {
  using Rows = SegmentRows<T, kBytes / static_cast<int>(sizeof(T))>;
  return {Rows::reduce,           Rows::reduce_backward, Rows::softmax,
          Rows::softmax_backward, Rows::graph_norm,      Rows::graph_norm_backward};
}

}  // namespace

namespace PLIMSOLL_LEVEL {
extern const SegmentKernels<float> segment_f32 = make_segment_kernels<float, PLIMSOLL_VECTOR_BYTES>();
extern const SegmentKernels<double> segment_f64 = make_segment_kernels<double, PLIMSOLL_VECTOR_BYTES>();
}  // namespace PLIMSOLL_LEVEL

}  // namespace plimsoll
