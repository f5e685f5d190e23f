#pragma once

// The kernels of product.h, compiled once a level (levels.h).

#include "kernels/product.h"
#include "kernels/simd.h"

namespace plimsoll {
namespace {

template <int kLanes>
struct ProductRows {
  using L = Lanes<float, kLanes>;
  static constexpr int kVectors = 2;  // of a panel
  static constexpr int kTile = 6;     // rows at once: 12 sums keep both multipliers busy
  static constexpr int64_t kPanel = int64_t{kVectors} * kLanes;

  static void pack(const float* w, int64_t in, int64_t out, float* packed) {
    for (int64_t first = 0; first < out; first += kPanel)
      for (int64_t k = 0; k < in; ++k)
        for (int64_t c = first; c < first + kPanel; ++c) *packed++ = c < out ? w[c * in + k] : 0.0F;
  }

  template <int kRows>
  static PLIMSOLL_INLINE void tile(const float* x, const float* panel, int64_t in, int64_t out,
                                   const float* bias, int64_t columns, float* y) {
    typename L::Vec sum[kRows][kVectors];
    float start[kPanel] = {};
    if (bias != nullptr)
      for (int64_t c = 0; c < columns; ++c) start[c] = bias[c];
    for (int r = 0; r < kRows; ++r)
      for (int v = 0; v < kVectors; ++v) sum[r][v] = L::load(start + v * kLanes);
    for (int64_t k = 0; k < in; ++k, panel += kPanel)
      for (int r = 0; r < kRows; ++r)
        for (int v = 0; v < kVectors; ++v) sum[r][v] += L::all(x[r * in + k]) * L::load(panel + v * kLanes);
    for (int r = 0; r < kRows; ++r) {
      if (columns == kPanel) {
        for (int v = 0; v < kVectors; ++v) L::store(y + r * out + v * kLanes, sum[r][v]);
        continue;
      }
      float last[kPanel];
      for (int v = 0; v < kVectors; ++v) L::store(last + v * kLanes, sum[r][v]);
      for (int64_t c = 0; c < columns; ++c) y[r * out + c] = last[c];
    }
  }

  static void multiply(const float* x, int64_t rows, const float* packed, int64_t in, int64_t out,
                       const float* bias, float* y) {
    for (int64_t first = 0; first < out; first += kPanel, packed += kPanel * in) {
      const int64_t columns = out - first < kPanel ? out - first : kPanel;
      const float* const added = bias == nullptr ? nullptr : bias + first;
      int64_t r = 0;
      for (; r + kTile <= rows; r += kTile)
        tile<kTile>(x + r * in, packed, in, out, added, columns, y + r * out + first);
      for (; r + 2 <= rows; r += 2) tile<2>(x + r * in, packed, in, out, added, columns, y + r * out + first);
      if (r < rows) tile<1>(x + r * in, packed, in, out, added, columns, y + r * out + first);
    }
  }
};

template <int kBytes>
constexpr ProductKernels make_product_kernels() {
  using Rows = ProductRows<kBytes / static_cast<int>(sizeof(float))>;
  return {Rows::kPanel, Rows::pack, Rows::multiply};
}

}  // namespace

namespace PLIMSOLL_LEVEL {
extern const ProductKernels product_f32 = make_product_kernels<PLIMSOLL_VECTOR_BYTES>();
}  // namespace PLIMSOLL_LEVEL

}  // namespace plimsoll
