#pragma once

// Functions that multiply rows by weights while the rows are in the cache.

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <vector>

#include "kernels/product/product.h"
#include "ops/numbers.h"
#include "ops/products.h"

namespace plimsoll {

/// Maximum number of rows that are multiplied at once.
inline constexpr int64_t kRowsAtOnce = 96;

/// A weight packed in the format of product.h.
template <typename T>
struct PackedWeight {
  at::Tensor buffer;
  int64_t in, out;

  /// Packs the weight, which must be contiguous, for y = x weight^T, or for y = x weight if `transposed`.
  static PackedWeight pack(const at::Tensor& weight, bool transposed) {
    const ProductKernels<T>& kernels = product_kernels<T>(kernel_level());
    const int64_t out = weight.size(transposed ? 1 : 0);
    const int64_t in = weight.size(transposed ? 0 : 1);
    PackedWeight packed{at::empty({product_size(kernels, in, out)}, weight.options()), in, out};
    (transposed ? kernels.pack_transposed : kernels.pack)(read<T>(weight), in, out, weight.size(1),
                                                          write<T>(packed.buffer));
    return packed;
  }
  /// Computes y [rows, out] from x [rows, in]. bias may be null. With `add` the product is added to y.
  void multiply(const T* x, int64_t rows, const T* bias, T* y, bool add = false) const {
    product_kernels<T>(kernel_level())
        .multiply({x, in}, rows, read<T>(buffer), in, out, bias, y, {.add = add, .relu = false});
  }
};

/// Calls work(begin, end) on ranges of up to kRowsAtOnce rows between begin and end, in order.
template <typename Work>
void over_rows(int64_t begin, int64_t end, const Work& work) {
  for (int64_t r = begin; r < end; r += kRowsAtOnce) work(r, std::min(r + kRowsAtOnce, end));
}

/// Calls work(begin, end, sums) on groups of rows, from several threads. `sums` are the group's own tensors
/// with the shapes of `to`, initially zero. Sets `to` to the sums over all groups, added in the order of
/// groups; the previous content of `to` is lost.
template <typename Work>
void sum_over_groups(int64_t rows, const std::vector<at::Tensor>& to, const Work& work) {
  const int64_t groups = transposed_groups(rows);
  std::vector<std::vector<at::Tensor>> sums(static_cast<size_t>(groups));
  for (auto& of_group : sums)
    for (const at::Tensor& sum : to)
      of_group.push_back(&of_group == sums.data() ? sum.zero_() : at::zeros(sum.sizes(), sum.options()));
  at::parallel_for(0, groups, 1, [&](int64_t first, int64_t last) {
    for (int64_t g = first; g < last; ++g)
      work(g * rows / groups, (g + 1) * rows / groups, sums[static_cast<size_t>(g)]);
  });
  for (size_t g = 1; g < sums.size(); ++g)
    for (size_t i = 0; i < to.size(); ++i) to[i].add_(sums[g][i]);
}

/// Adds all rows of `rows` [count, width] to `sum` [width].
template <typename T>
void add_rows(const T* rows, int64_t count, int64_t width, T* sum) {
  for (int64_t r = 0; r < count; ++r)
    for (int64_t c = 0; c < width; ++c) sum[c] += rows[r * width + c];
}

}  // namespace plimsoll
