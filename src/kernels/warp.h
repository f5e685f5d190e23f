#pragma once

// What the bodies of CUDA kernels are written with (*_device.h). They are plain C++: nvcc compiles them for a
// GPU, and the tests compile them for the host, where 32 lanes take turns.

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
// the work of one warp on one item. Items of a step touch nothing in common. A Warp (cuda_warp.h; in the
// tests host_warp.h) offers
//
//     PerLane<V>               a variable that each lane has of its own; v[lane], zero at first
// - each(f): f(lane) of each lane, in any order; lanes see what others wrote after sync()
// - sync(): a barrier for memory
// - sum(v, low, high): v becomes the sum over lanes whose numbers differ in the bits low .. high/2 only
// - highest(v, low, high): likewise the highest, or NaN where one is; low and high are powers of two, and
//   both are a butterfly from high to low
// - load<n>(at), store(at): n numbers that lie aligned to their size
//
// sum and highest are called by all lanes, never inside each().

inline constexpr int kWarpLanes = 32;

template <typename Warp, typename V>
using PerLane = typename Warp::template PerLane<V>;

/// n numbers that are loaded at once.
template <typename T, int kNumbers>
struct alignas(kNumbers * sizeof(T)) Pack {
  T at[kNumbers]{};
};

/// The smallest power of two that is at least `count`, and at most the lanes of a warp.
constexpr int lanes_for(int64_t count) {
  int lanes = 1;
  while (lanes < count && lanes < kWarpLanes) lanes *= 2;
  return lanes;
}

/// Lanes on a matrix: neighbours take neighbouring columns. Where columns are few, a warp takes several rows.
struct ColumnLanes {
  int width;  ///< lanes side by side: power of two

  constexpr explicit ColumnLanes(int64_t columns) : width(lanes_for(columns)) {}
  constexpr int column(int lane) const { return lane & (width - 1); }
  constexpr int row(int lane) const { return lane / width; }
  constexpr int rows() const { return kWarpLanes / width; }
  /// Groups of columns that a matrix has.
  constexpr int64_t groups(int64_t columns) const { return (columns + width - 1) / width; }
};

/// Lanes on a row of heads and channels, in tiles. A head belongs to `lanes` neighbours, so that its sum over
/// channels is sum(v, 1, lanes); each takes kVector channels at a time.
template <int kVector>
struct HeadTiles {
  int heads;
  int channels;
  int lanes;    ///< of a head: power of two
  int at_once;  ///< heads in a tile
  int chunks;   ///< tiles that a head's channels take

  constexpr HeadTiles(int64_t head_count, int64_t channel_count)
      : heads(static_cast<int>(head_count)),
        channels(static_cast<int>(channel_count)),
        lanes(lanes_for((channel_count + kVector - 1) / kVector)),
        at_once(kWarpLanes / lanes),
        chunks((channels + lanes * kVector - 1) / (lanes * kVector)) {}

  constexpr int count() const { return (heads + at_once - 1) / at_once * chunks; }
  constexpr int head(int tile, int lane) const { return tile / chunks * at_once + lane / lanes; }
  /// Place in the row of the lane's first channel, or -1 where the row has none for it.
  constexpr int column(int tile, int lane) const {
    const int h = head(tile, lane);
    const int c = (tile % chunks * lanes + (lane & (lanes - 1))) * kVector;
    return tile < count() && h < heads && c < channels ? h * channels + c : -1;
  }
  /// Whether the lane writes down the sums of its head.
  constexpr bool leads(int tile, int lane) const {
    return (lane & (lanes - 1)) == 0 && tile < count() && head(tile, lane) < heads;
  }
};

/// Rows shared out in parts that are summed apart: their number depends on the sizes alone.
struct Parts {
  static constexpr int64_t kMax = 1024;

  int64_t rows;
  int64_t count;

  /// `columns` numbers are kept of each part.
  constexpr Parts(int64_t row_count, int64_t columns) : rows(row_count), count(rows / min_rows(columns)) {
    if (count > kMax) count = kMax;
    if (count < 1) count = 1;
  }
  constexpr int64_t begin(int64_t part) const { return part * rows / count; }

  /// Of a part: more where its sums are long.
  static constexpr int64_t min_rows(int64_t columns) {
    const int64_t rows = (columns + 23) / 24;
    return rows < 16 ? 16 : rows;
  }
  /// Numbers that suffice for the sums of up to so many columns: a sixteenth of the rows' own and at most 24
  /// a row, so affine in rows, that plans are exact; no fewer for more columns.
  static constexpr int64_t max_numbers(int64_t rows, int64_t columns) {
    const int64_t of_row = (columns + 15) / 16;
    return rows * (of_row < 24 ? of_row : 24) + columns;
  }
};

}  // namespace plimsoll
