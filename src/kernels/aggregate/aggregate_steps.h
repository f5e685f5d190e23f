#pragma once

// The CUDA kernel of aggregate.h as a step (warp.h).

#include "kernels/aggregate/aggregate.h"
#include "kernels/warp.h"

namespace plimsoll {

/// Item: (row, block of columns). The lanes of a column divide the row's entries among themselves. Their sums
/// are added in a fixed order. Does not add base and bias.
template <typename T>
struct AggregateOnDevice {
  AggregateInput<T> in;
  T* out;

  constexpr int64_t blocks() const { return ColumnLanes(in.features).groups(in.features); }

  template <typename Warp>
  PLIMSOLL_DEVICE void operator()(const Warp& warp, int64_t item) const {
    const ColumnLanes lanes(in.features);
    const int64_t row = item / blocks();
    const int64_t first = item % blocks() * lanes.width;
    PerLane<Warp, T> sum(T(0));
    warp.each([&](int lane) {
      const int64_t column = first + lanes.column(lane);
      if (column >= in.features) return;
      for (int32_t p = in.ptr[row] + lanes.row(lane); p < in.ptr[row + 1]; p += lanes.rows()) {
        T scale(1);
        if (in.entry_scale != nullptr) scale *= in.entry_scale[in.index[p]];
        if (in.edge_scale != nullptr) scale *= in.edge_scale[in.edge[p]];
        sum[lane] += scale * in.x[in.index[p] * in.features + column];
      }
    });
    warp.sum(sum, lanes.width, kWarpLanes);
    warp.each([&](int lane) {
      const int64_t column = first + lanes.column(lane);
      if (column >= in.features || lanes.row(lane) != 0) return;
      out[row * in.features + column] = in.row_scale == nullptr ? sum[lane] : in.row_scale[row] * sum[lane];
    });
  }
};

}  // namespace plimsoll
