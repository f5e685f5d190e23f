#pragma once

// Sums over rows in parts (warp.h), which are added in a fixed order. This makes gradients of weights
// reproducible.

#include "kernels/warp.h"

namespace plimsoll {

/// Item: (part, 32 columns). sums[part, c] = sum over the part's rows of x[row, c], times weight[row, c / D]
/// if weights are given.
template <typename T>
struct ColumnSums {
  const T* x;
  const T* weight;  // [rows, H], or null.
  int64_t heads, channels;
  Parts parts;
  T* sums;

  static constexpr int64_t blocks(int64_t columns) { return (columns + kWarpLanes - 1) / kWarpLanes; }

  template <typename Warp>
  PLIMSOLL_DEVICE void operator()(const Warp& warp, int64_t item) const {
    const int64_t columns = heads * channels;
    const int64_t part = item / blocks(columns);
    warp.each([&](int lane) {
      const int64_t c = item % blocks(columns) * kWarpLanes + lane;
      if (c >= columns) return;
      const int64_t h = c / channels;
      T sum(0);
      for (int64_t i = parts.begin(part); i < parts.begin(part + 1); ++i)
        sum += weight == nullptr ? x[i * columns + c] : weight[i * heads + h] * x[i * columns + c];
      sums[part * columns + c] = sum;
    });
  }
};

/// Item: an index n. out[n] = sum over parts of sums[part, n].
template <typename T>
struct AddParts {
  const T* sums;
  int64_t parts;
  int64_t numbers;
  T* out;

  template <typename Warp>
  PLIMSOLL_DEVICE void operator()(const Warp& warp, int64_t n) const {
    PerLane<Warp, T> sum(T(0));
    warp.each([&](int lane) {
      for (int64_t p = lane; p < parts; p += kWarpLanes) sum[lane] += sums[p * numbers + n];
    });
    warp.sum(sum, 1, kWarpLanes);
    warp.each([&](int lane) {
      if (lane == 0) out[n] = sum[lane];
    });
  }
};

/// Computes out [columns] = sum of the rows of x, weighted if weights are given. Does nothing if out is null.
/// `buffer` holds Parts(rows, columns).count * columns numbers.
template <typename T, typename Launch>
void sum_columns(const T* x, const T* weight, int64_t rows, int64_t heads, int64_t channels, T* buffer,
                 T* out, const Launch& launch) {
  if (out == nullptr) return;
  const int64_t columns = heads * channels;
  const Parts parts(rows, columns);
  launch(parts.count * ColumnSums<T>::blocks(columns),
         ColumnSums<T>{x, weight, heads, channels, parts, buffer});
  launch(columns, AddParts<T>{buffer, parts.count, columns, out});
}

}  // namespace plimsoll
