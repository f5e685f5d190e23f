#pragma once

// The CUDA kernels of segments as steps (warp.h), and the order in which they run. Formulas: segment.h.

#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/segment/segment_gpu.h"
#include "kernels/sums_steps.h"
#include "kernels/warp.h"

namespace plimsoll {

/// Rows in segments, [N, F].
struct Segments {
  const int64_t* ptr;
  int64_t count;
  int64_t features;

  constexpr int64_t blocks() const { return ColumnLanes(features).groups(features); }
};

/// Assigns a warp's lanes to one segment and one block of its columns.
struct SegmentLanes {
  ColumnLanes lanes;
  int64_t features;
  int64_t segment;
  int64_t block;
  int64_t begin, end;

  PLIMSOLL_DEVICE SegmentLanes(const Segments& segments, int64_t g, int64_t column_block)
      : lanes(segments.features),
        features(segments.features),
        segment(g),
        block(column_block),
        begin(segments.ptr[g]),
        end(segments.ptr[g + 1]) {}

  PLIMSOLL_DEVICE int64_t rows() const { return end - begin; }
  PLIMSOLL_DEVICE int64_t column(int lane) const { return block * lanes.width + lanes.column(lane); }
  /// Calls use(n) for the lane's places in [N, F].
  template <typename Use>
  PLIMSOLL_DEVICE void over(int lane, Use use) const {
    if (column(lane) >= features) return;
    for (int64_t n = begin + lanes.row(lane); n < end; n += lanes.rows()) use(n * features + column(lane));
  }
  /// Returns whether the lane writes the numbers that exist once per segment and column. place() is their
  /// place in [G, F].
  PLIMSOLL_DEVICE bool leads(int lane) const { return column(lane) < features && lanes.row(lane) == 0; }
  PLIMSOLL_DEVICE int64_t place(int lane) const { return segment * features + column(lane); }
  PLIMSOLL_DEVICE bool covers(int lane) const { return column(lane) < features; }

  template <typename Warp, typename V>
  PLIMSOLL_DEVICE void sum(const Warp& warp, V& v) const {
    warp.sum(v, lanes.width, kWarpLanes);
  }
  template <typename Warp, typename V>
  PLIMSOLL_DEVICE void highest(const Warp& warp, V& v) const {
    warp.highest(v, lanes.width, kWarpLanes);
  }
};

// The item of all steps but the last is (segment, block of columns).

template <typename T>
struct SegmentReduce {
  Segments segments;
  const T* x;
  Reduce kind;
  T* out;

  template <typename Warp>
  PLIMSOLL_DEVICE void operator()(const Warp& warp, int64_t item) const {
    const SegmentLanes mine(segments, item / segments.blocks(), item % segments.blocks());
    PerLane<Warp, T> result(kind == Reduce::max ? -std::numeric_limits<T>::infinity() : T(0));
    warp.each([&](int lane) {
      mine.over(lane, [&](int64_t at) {
        if (kind == Reduce::max)
          // NaN is kept, as on the CPU.
          result[lane] = x[at] > result[lane] || x[at] != x[at] ? x[at] : result[lane];
        else
          result[lane] += x[at];
      });
    });
    if (kind == Reduce::max)
      mine.highest(warp, result);
    else
      mine.sum(warp, result);
    warp.each([&](int lane) {
      if (!mine.leads(lane)) return;
      T value = mine.rows() > 0 ? result[lane] : T(0);
      if (kind == Reduce::mean && mine.rows() > 0) value /= static_cast<T>(mine.rows());
      out[mine.place(lane)] = value;
    });
  }
};

template <typename T>
struct SegmentReduceBackward {
  Segments segments;
  const T* dout;
  const T* x;
  const T* out;
  Reduce kind;
  T* dx;

  template <typename Warp>
  PLIMSOLL_DEVICE void operator()(const Warp& warp, int64_t item) const {
    const SegmentLanes mine(segments, item / segments.blocks(), item % segments.blocks());
    PerLane<Warp, T> reached(T(0));  // Number of rows that share the gradient of max.
    if (kind == Reduce::max) {
      warp.each([&](int lane) {
        mine.over(lane, [&](int64_t at) { reached[lane] += x[at] == out[mine.place(lane)] ? T(1) : T(0); });
      });
      mine.sum(warp, reached);
    }
    warp.each([&](int lane) {
      mine.over(lane, [&](int64_t at) {
        T d = dout[mine.place(lane)];
        if (kind == Reduce::mean) d /= static_cast<T>(mine.rows());
        if (kind == Reduce::max) d = x[at] == out[mine.place(lane)] ? d / reached[lane] : T(0);
        dx[at] = d;
      });
    });
  }
};

template <typename T>
struct SegmentSoftmax {
  Segments segments;
  const T* x;
  T* out;

  template <typename Warp>
  PLIMSOLL_DEVICE void operator()(const Warp& warp, int64_t item) const {
    const SegmentLanes mine(segments, item / segments.blocks(), item % segments.blocks());
    PerLane<Warp, T> highest(-std::numeric_limits<T>::infinity());
    PerLane<Warp, T> sum(T(0));
    warp.each([&](int lane) {
      mine.over(lane, [&](int64_t at) { highest[lane] = x[at] > highest[lane] ? x[at] : highest[lane]; });
    });
    mine.highest(warp, highest);
    warp.each([&](int lane) {
      mine.over(lane, [&](int64_t at) {
        out[at] = std::exp(x[at] - highest[lane]);
        sum[lane] += out[at];
      });
    });
    mine.sum(warp, sum);
    warp.each([&](int lane) {
      const T scale = T(1) / sum[lane];
      mine.over(lane, [&](int64_t at) { out[at] *= scale; });
    });
  }
};

template <typename T>
struct SegmentSoftmaxBackward {
  Segments segments;
  const T* dout;
  const T* out;
  T* dx;

  template <typename Warp>
  PLIMSOLL_DEVICE void operator()(const Warp& warp, int64_t item) const {
    const SegmentLanes mine(segments, item / segments.blocks(), item % segments.blocks());
    PerLane<Warp, T> delta(T(0));
    warp.each([&](int lane) { mine.over(lane, [&](int64_t at) { delta[lane] += out[at] * dout[at]; }); });
    mine.sum(warp, delta);
    warp.each(
        [&](int lane) { mine.over(lane, [&](int64_t at) { dx[at] = out[at] * (dout[at] - delta[lane]); }); });
  }
};

template <typename T>
struct GraphNorm {
  Segments segments;
  const T* x;
  const T* weight;
  const T* bias;
  const T* mean_scale;
  T eps;
  T* out;
  T* mean;
  T* r;

  template <typename Warp>
  PLIMSOLL_DEVICE void operator()(const Warp& warp, int64_t item) const {
    const SegmentLanes mine(segments, item / segments.blocks(), item % segments.blocks());
    const T share = mine.rows() > 0 ? T(1) / static_cast<T>(mine.rows()) : T(0);
    PerLane<Warp, T> sum(T(0));
    PerLane<Warp, T> squares(T(0));
    warp.each([&](int lane) { mine.over(lane, [&](int64_t at) { sum[lane] += x[at]; }); });
    mine.sum(warp, sum);
    warp.each([&](int lane) {
      mine.over(lane, [&](int64_t at) {
        const T y = x[at] - sum[lane] * share * mean_scale[mine.column(lane)];
        squares[lane] += y * y;
      });
    });
    mine.sum(warp, squares);
    warp.each([&](int lane) {
      if (!mine.covers(lane)) return;
      const int64_t c = mine.column(lane);
      const T scale = T(1) / std::sqrt(squares[lane] * share + eps);
      const T shift = sum[lane] * share * mean_scale[c];
      if (mine.leads(lane)) {
        mean[mine.place(lane)] = sum[lane] * share;
        r[mine.place(lane)] = scale;
      }
      mine.over(lane, [&](int64_t at) { out[at] = (x[at] - shift) * (scale * weight[c]) + bias[c]; });
    });
  }
};

/// Item: (part of the segments, block of columns). Writes dx, and the part's sums of dweights, [parts, 3, F].
/// segment_cpu.h has the formulas.
template <typename T>
struct GraphNormBackward {
  Segments segments;
  const T* dout;
  const T* x;
  const T* weight;
  const T* mean_scale;
  const T* mean;
  const T* r;
  T* dx;
  Parts parts;
  T* sums;

  template <typename Warp>
  PLIMSOLL_DEVICE void operator()(const Warp& warp, int64_t item) const {
    const int64_t part = item / segments.blocks();
    const int64_t block = item % segments.blocks();
    const int64_t features = segments.features;
    PerLane<Warp, T> dweight(T(0));
    PerLane<Warp, T> dbias(T(0));
    PerLane<Warp, T> dmean_scale(T(0));
    for (int64_t g = parts.begin(part); g < parts.begin(part + 1); ++g) {
      const SegmentLanes mine(segments, g, block);
      if (mine.rows() == 0) continue;
      const T share = T(1) / static_cast<T>(mine.rows());
      PerLane<Warp, T> grad(T(0));
      PerLane<Warp, T> product(T(0));
      PerLane<Warp, T> dy_sum(T(0));
      warp.each([&](int lane) {
        mine.over(lane, [&](int64_t at) {
          grad[lane] += dout[at];
          product[lane] += dout[at] * (x[at] - mean[mine.place(lane)] * mean_scale[mine.column(lane)]);
        });
      });
      mine.sum(warp, grad);
      mine.sum(warp, product);
      warp.each([&](int lane) {
        if (!mine.covers(lane)) return;
        const T scale = r[mine.place(lane)];
        const T shift = mean[mine.place(lane)] * mean_scale[mine.column(lane)];
        const T back = product[lane] * scale * scale * share;
        mine.over(lane, [&](int64_t at) {
          dx[at] = weight[mine.column(lane)] * scale * (dout[at] - (x[at] - shift) * back);
          dy_sum[lane] += dx[at];
        });
        dbias[lane] += grad[lane];
        dweight[lane] += product[lane] * scale;
      });
      mine.sum(warp, dy_sum);
      warp.each([&](int lane) {
        if (!mine.covers(lane)) return;
        dmean_scale[lane] -= mean[mine.place(lane)] * dy_sum[lane];
        const T rest = mean_scale[mine.column(lane)] * share * dy_sum[lane];
        mine.over(lane, [&](int64_t at) { dx[at] -= rest; });
      });
    }
    warp.each([&](int lane) {
      const ColumnLanes lanes(features);
      const int64_t c = block * lanes.width + lanes.column(lane);
      if (c >= features || lanes.row(lane) != 0) return;
      T* const to = sums + part * 3 * features + c;
      to[0] = dweight[lane];
      to[features] = dbias[lane];
      to[2 * features] = dmean_scale[lane];
    });
  }
};

template <typename T, typename Launch>
void run_graph_norm_backward(const Segments& segments, const T* dout, const T* x, const T* weight,
                             const T* mean_scale, const T* mean, const T* r, T* dx, T* dweights, T* workspace,
                             const Launch& launch) {
  const int64_t numbers = 3 * segments.features;
  const Parts parts(segments.count, numbers);
  launch(parts.count * segments.blocks(),
         GraphNormBackward<T>{segments, dout, x, weight, mean_scale, mean, r, dx, parts, workspace});
  launch(numbers, AddParts<T>{workspace, parts.count, numbers, dweights});
}

}  // namespace plimsoll
