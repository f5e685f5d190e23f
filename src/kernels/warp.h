#pragma once

// Building blocks of CUDA kernels (*_steps.h). They are plain C++: nvcc compiles them for a GPU, and the
// tests compile them for the host, where the 32 lanes run one after the other.

#include <cstdint>

#ifdef __CUDACC__
#define PLIMSOLL_DEVICE __device__ inline
#else
#define PLIMSOLL_DEVICE inline
#endif

namespace plimsoll {

// A kernel is a *step*: a struct of pointers and sizes, copied to the device, with
//
//     template <typename Warp> void operator()(const Warp& warp, int64_t item) const
//
// the work of one warp on one item. No item of a step touches memory that another item writes. A Warp
// (cuda_warp.h; in the tests host_warp.h) offers
//
//     PerLane<V>               one variable per lane: v[lane], initially zero
// - each(f): f(lane) of each lane, in any order; after sync(), lanes see what other lanes wrote
// - sync(): a memory barrier
// - sum(v, low, high): v becomes the sum over the lanes whose indices differ only in the bits low .. high/2
// - highest(v, low, high): v becomes the maximum over the same lanes, or NaN if one of them has NaN; low and
//   high are powers of two, and both functions are a butterfly from high to low
// - load<n>(at), store(at): n numbers, aligned to their total size
//
// All lanes must call sum and highest, never inside each().

inline constexpr int kWarpLanes = 32;

template <typename Warp, typename V>
using PerLane = typename Warp::template PerLane<V>;

/// A pack of numbers that are loaded at once.
template <typename T, int kNumbers>
struct alignas(kNumbers * sizeof(T)) Pack {
  T at[kNumbers]{};
};

/// Returns the smallest power of two that is at least `count`, limited to the lanes of a warp.
constexpr int lanes_for(int64_t count) {
  int lanes = 1;
  while (lanes < count && lanes < kWarpLanes) lanes *= 2;
  return lanes;
}

/// Assigns lanes to the elements of a matrix. Neighbouring lanes process neighbouring columns. If there are
/// few columns, a warp processes several rows.
struct ColumnLanes {
  int width;  ///< Number of lanes per row: a power of two.

  constexpr explicit ColumnLanes(int64_t columns) : width(lanes_for(columns)) {}
  constexpr int column(int lane) const { return lane & (width - 1); }
  constexpr int row(int lane) const { return lane / width; }
  constexpr int rows() const { return kWarpLanes / width; }
  /// Number of groups of columns in a matrix.
  constexpr int64_t groups(int64_t columns) const { return (columns + width - 1) / width; }
};

/// Assigns lanes to a row of heads and channels, in tiles. A head has `lanes` neighbouring lanes, so that its
/// sum over channels is sum(v, 1, lanes). Each lane processes kVector channels at a time.
template <int kVector>
struct HeadTiles {
  int heads;
  int channels;
  int lanes;    ///< Lanes of a head: a power of two.
  int at_once;  ///< Heads in a tile.
  int chunks;   ///< Number of tiles that a head's channels need.

  constexpr HeadTiles(int64_t head_count, int64_t channel_count)
      : heads(static_cast<int>(head_count)),
        channels(static_cast<int>(channel_count)),
        lanes(lanes_for((channel_count + kVector - 1) / kVector)),
        at_once(kWarpLanes / lanes),
        chunks((channels + lanes * kVector - 1) / (lanes * kVector)) {}

  constexpr int count() const { return (heads + at_once - 1) / at_once * chunks; }
  constexpr int head(int tile, int lane) const { return tile / chunks * at_once + lane / lanes; }
  /// Returns the place in the row of the lane's first channel, or -1 if the row has none for the lane.
  constexpr int column(int tile, int lane) const {
    const int h = head(tile, lane);
    const int c = (tile % chunks * lanes + (lane & (lanes - 1))) * kVector;
    return tile < count() && h < heads && c < channels ? h * channels + c : -1;
  }
  /// Returns whether the lane writes the sums of its head.
  constexpr bool leads(int tile, int lane) const {
    return (lane & (lanes - 1)) == 0 && tile < count() && head(tile, lane) < heads;
  }
};

/// Parts of rows that are summed separately. Their number depends only on the sizes.
struct Parts {
  static constexpr int64_t kMax = 1024;

  int64_t rows;
  int64_t count;

  /// `columns` sums are kept per part.
  constexpr Parts(int64_t row_count, int64_t columns) : rows(row_count), count(rows / min_rows(columns)) {
    if (count > kMax) count = kMax;
    if (count < 1) count = 1;
  }
  constexpr int64_t begin(int64_t part) const { return part * rows / count; }

  /// Returns the minimum number of rows of a part, which is larger if a part has many sums.
  static constexpr int64_t min_rows(int64_t columns) {
    const int64_t rows = (columns + 23) / 24;
    return rows < 16 ? 16 : rows;
  }
  /// Returns how many numbers are enough for the sums of up to `columns` columns. Each row contributes
  /// columns / 16, and at most 24. The result is affine in rows, so that plans are exact, and never falls as
  /// columns grow.
  static constexpr int64_t max_numbers(int64_t rows, int64_t columns) {
    const int64_t of_row = (columns + 15) / 16;
    return rows * (of_row < 24 ? of_row : 24) + columns;
  }
};

}  // namespace plimsoll
