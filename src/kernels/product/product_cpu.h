#pragma once

// The kernels of product.h, compiled once for each level (levels.h).

#include "kernels/product/product.h"
#include "kernels/simd.h"

namespace plimsoll {
namespace {

template <typename T, int kLanes>
struct ProductRows {
  using L = Lanes<T, kLanes>;
  static constexpr int kVectors = 2;  // Vectors in a panel.
  static constexpr int kTile = 6;     // Number of rows at once: 12 sums keep both multipliers busy.
  static constexpr int64_t kPanel = int64_t{kVectors} * kLanes;

  // Packs W. The weight of output c and input k is w[c * out_step + k * in_step].
  static PLIMSOLL_INLINE void pack_steps(const T* w, int64_t in, int64_t out, int64_t out_step,
                                         int64_t in_step, T* packed) {
    for (int64_t first = 0; first < out; first += kPanel)
      for (int64_t k = 0; k < in; ++k)
        for (int64_t c = first; c < first + kPanel; ++c)
          *packed++ = c < out ? w[c * out_step + k * in_step] : T(0);
  }
  static void pack(const T* w, int64_t in, int64_t out, int64_t step, T* packed) {
    pack_steps(w, in, out, step, 1, packed);
  }
  static void pack_transposed(const T* w, int64_t in, int64_t out, int64_t step, T* packed) {
    pack_steps(w, in, out, 1, step, packed);
  }

  // Computes kRows rows of y, from row `first` of x on, for one panel. `start` is one row for all rows, or
  // null to add to y.
  template <int kRows>
  static PLIMSOLL_INLINE void tile(RowSpan<T> x, int64_t first, const T* panel, int64_t in, int64_t out,
                                   const T* start, int64_t columns, bool relu, T* y) {
    const T* const from_x = x.at + first * x.step;
    y += first * out;
    typename L::Vec sum[kRows][kVectors];
    T part[kPanel] = {};
    for (int r = 0; r < kRows; ++r) {
      const T* from = start == nullptr ? y + r * out : start;
      if (start == nullptr && columns < kPanel) {
        for (int64_t c = 0; c < columns; ++c) part[c] = from[c];
        from = part;
      }
      for (int v = 0; v < kVectors; ++v) sum[r][v] = L::load(from + v * kLanes);
    }
    for (int64_t k = 0; k < in; ++k, panel += kPanel)
      for (int r = 0; r < kRows; ++r)
        for (int v = 0; v < kVectors; ++v)
          sum[r][v] += L::all(from_x[r * x.step + k * x.column_step]) * L::load(panel + v * kLanes);
    for (int r = 0; r < kRows; ++r) {
      const auto none = typename L::Vec{};
      if (relu)
        for (int v = 0; v < kVectors; ++v) sum[r][v] = sum[r][v] <= none ? none : sum[r][v];
      if (columns == kPanel) {
        for (int v = 0; v < kVectors; ++v) L::store(y + r * out + v * kLanes, sum[r][v]);
        continue;
      }
      for (int v = 0; v < kVectors; ++v) L::store(part + v * kLanes, sum[r][v]);
      for (int64_t c = 0; c < columns; ++c) y[r * out + c] = part[c];
    }
  }

  // Computes all rows for one panel.
  static PLIMSOLL_INLINE void tiles(RowSpan<T> x, int64_t rows, const T* panel, int64_t in, int64_t out,
                                    const T* start, int64_t columns, bool relu, T* y) {
    int64_t r = 0;
    for (; r + kTile <= rows; r += kTile) tile<kTile>(x, r, panel, in, out, start, columns, relu, y);
    for (; r + 2 <= rows; r += 2) tile<2>(x, r, panel, in, out, start, columns, relu, y);
    if (r < rows) tile<1>(x, r, panel, in, out, start, columns, relu, y);
  }

  static void multiply(RowSpan<T> x, int64_t rows, const T* packed, int64_t in, int64_t out, const T* bias,
                       T* y, ProductEnd end) {
    for (int64_t first = 0; first < out; first += kPanel, packed += kPanel * in) {
      const int64_t columns = out - first < kPanel ? out - first : kPanel;
      T start[kPanel] = {};
      if (bias != nullptr)
        for (int64_t c = 0; c < columns; ++c) start[c] = bias[first + c];
      tiles(x, rows, packed, in, out, end.add ? nullptr : start, columns, end.relu, y + first);
    }
  }

  // A panel of b is packed first, because numbers that are one row apart would fall into few sets of the
  // cache.
  static void add_transposed(RowSpan<T> a, int64_t m, const T* b, int64_t n, int64_t rows, T* buffer,
                             T* sum) {
    for (int64_t first = 0; first < n; first += kPanel) {
      const int64_t columns = n - first < kPanel ? n - first : kPanel;
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < kPanel; ++c)
          buffer[r * kPanel + c] = c < columns ? b[r * n + first + c] : T(0);
      tiles({a.at, a.column_step, a.step}, m, buffer, rows, n, nullptr, columns, false, sum + first);
    }
  }
};

template <typename T, int kBytes>
constexpr ProductKernels<T> make_product_kernels() {
  using Rows = ProductRows<T, kBytes / static_cast<int>(sizeof(T))>;
  return {Rows::kPanel, Rows::pack, Rows::pack_transposed, Rows::multiply, Rows::add_transposed};
}

}  // namespace

namespace PLIMSOLL_LEVEL {
extern const ProductKernels<float> product_f32 = make_product_kernels<float, PLIMSOLL_VECTOR_BYTES>();
extern const ProductKernels<double> product_f64 = make_product_kernels<double, PLIMSOLL_VECTOR_BYTES>();
}  // namespace PLIMSOLL_LEVEL

}  // namespace plimsoll
