#pragma once

#include <cstdint>

#include "base/words.h"
#include "kernels/level.h"

namespace plimsoll {

/// The reduction of a segment. Mean and max of an empty segment are 0, as in PyG.
enum class Reduce : uint8_t { sum, mean, max };
template <>
inline constexpr auto kWords<Reduce> = std::to_array<std::string_view>({"sum", "mean", "max"});

/// Reductions over segments of consecutive rows, such as the nodes of a graph or the edges of a target. x is
/// [N, F] in C order; segment g has the rows ptr[g] .. ptr[g+1]-1. Each call computes the segments begin ..
/// end-1 and processes rows in order, so their bits do not depend on how segments are distributed over
/// threads. It writes nothing else, except that graph_norm_backward() adds to sums over segments; calls at
/// the same time need separate sums. T is float or double.
template <typename T>
struct SegmentKernels {
  /// Writes out [G, F].
  void (*reduce)(const T* x, const int64_t* ptr, int64_t features, Reduce kind, int64_t begin, int64_t end,
                 T* out);
  /// Writes dx [N, F] from dout [G, F]. The gradient of max is shared equally by all rows that reach it, as
  /// in torch's scatter_reduce. x and out are read for max only.
  void (*reduce_backward)(const T* dout, const T* x, const T* out, const int64_t* ptr, int64_t features,
                          Reduce kind, int64_t begin, int64_t end, T* dx);

  /// Computes out = softmax over the rows of each segment, by column. out may be x.
  void (*softmax)(const T* x, const int64_t* ptr, int64_t features, int64_t begin, int64_t end, T* out);
  /// Computes dx = out (dout - sum of out dout over the segment).
  void (*softmax_backward)(const T* dout, const T* out, const int64_t* ptr, int64_t features, int64_t begin,
                           int64_t end, T* dx);

  /// GraphNorm (Cai et al., ICML 2021), as in PyG: y = x - mean_scale * mean, out = weight y r + bias with r
  /// = 1 / sqrt(mean of y^2 + eps), for each segment and column. mean and r [G, F] are kept for backward.
  void (*graph_norm)(const T* x, const int64_t* ptr, int64_t features, const T* weight, const T* bias,
                     const T* mean_scale, T eps, int64_t begin, int64_t end, T* out, T* mean, T* r);
  /// Writes dx [N, F]; adds to dweight, dbias and dmean_scale [F].
  void (*graph_norm_backward)(const T* dout, const T* x, const int64_t* ptr, int64_t features,
                              const T* weight, const T* mean_scale, const T* mean, const T* r, int64_t begin,
                              int64_t end, T* dx, T* dweight, T* dbias, T* dmean_scale);
};

template <typename T>
const SegmentKernels<T>& segment_kernels(Level level);

}  // namespace plimsoll
