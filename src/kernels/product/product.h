#pragma once

#include <cstdint>

#include "kernels/level.h"

namespace plimsoll {

/// Rows of a matrix: element c of row r is at[r * step + c * column_step].
template <typename T>
struct RowSpan {
  const T* at;
  int64_t step;
  int64_t column_step = 1;
};

/// What to do with the result of a product.
struct ProductEnd {
  bool add = false;   ///< Add the result to y instead of overwriting y.
  bool relu = false;  ///< Replace negative results with 0.
};

/// Products of few rows with a constant matrix: y = x W^T + bias. W is packed once, for one level, in panels
/// of columns of W^T that fit into registers. Inputs are added in order, so a row has the same bits whatever
/// the number of rows. T is float or double. Thread-safe.
template <typename T>
struct ProductKernels {
  int64_t panel;  ///< Number of outputs in a panel.

  /// pack() packs W [out, in] in C order, as torch's Linear stores it, into product_size() numbers.
  /// pack_transposed() does the same from W^T [in, out]. Rows are `step` numbers apart.
  void (*pack)(const T* w, int64_t in, int64_t out, int64_t step, T* packed);
  void (*pack_transposed)(const T* w, int64_t in, int64_t out, int64_t step, T* packed);
  /// Computes y [rows, out] from x [rows, in]; bias is [out], or null. With `add`, bias is not used.
  void (*multiply)(RowSpan<T> x, int64_t rows, const T* packed, int64_t in, int64_t out, const T* bias, T* y,
                   ProductEnd end);
  /// Computes sum [m, n] += a^T b for a [rows, m] and b [rows, n], over rows in their order. `buffer` has
  /// rows * panel numbers.
  void (*add_transposed)(RowSpan<T> a, int64_t m, const T* b, int64_t n, int64_t rows, T* buffer, T* sum);
};

template <typename T>
const ProductKernels<T>& product_kernels(Level level);

/// Returns the number of entries in a packed matrix.
template <typename T>
int64_t product_size(const ProductKernels<T>& kernels, int64_t in, int64_t out) {
  return (out + kernels.panel - 1) / kernels.panel * kernels.panel * in;
}

}  // namespace plimsoll
