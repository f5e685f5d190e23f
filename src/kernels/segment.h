#pragma once

#include <cstdint>

#include "kernels/level.h"

namespace plimsoll {

/// What a segment is reduced to; mean and max of an empty one are 0, as PyG has it.
enum class Reduce : uint8_t { sum, mean, max };

/// Reductions over segments of consecutive rows: the nodes of a graph, the edges of a target. x is [N, F] in
/// C order; segment g holds the rows ptr[g] .. ptr[g+1]-1. Each call works on the segments begin .. end-1 and
/// touches nothing else, rows in order: the same bits however segments are shared out. T is float or double.
template <typename T>
struct SegmentKernels {
  /// out [G, F]
  void (*reduce)(const T* x, const int64_t* ptr, int64_t features, Reduce kind, int64_t begin, int64_t end,
                 T* out);
  /// dx [N, F] from dout [G, F]; the gradient of max is shared by all rows that reach it, as in torch's
  /// scatter_reduce. x and out are read for max only.
  void (*reduce_backward)(const T* dout, const T* x, const T* out, const int64_t* ptr, int64_t features,
                          Reduce kind, int64_t begin, int64_t end, T* dx);

  /// out = softmax over the rows of each segment, by column; may be x itself.
  void (*softmax)(const T* x, const int64_t* ptr, int64_t features, int64_t begin, int64_t end, T* out);
  /// dx = out (dout - sum of out dout over the segment).
  void (*softmax_backward)(const T* dout, const T* out, const int64_t* ptr, int64_t features, int64_t begin,
                           int64_t end, T* dx);

  /// GraphNorm (Cai et al., ICML 2021; PyG's): y = x - mean_scale * mean, out = weight y r + bias with
  /// r = 1 / sqrt(mean of y^2 + eps), per segment and column. mean and r [G, F] are kept for backward.
  void (*graph_norm)(const T* x, const int64_t* ptr, int64_t features, const T* weight, const T* bias,
                     const T* mean_scale, T eps, int64_t begin, int64_t end, T* out, T* mean, T* r);
  /// dx [N, F]; adds to dweight, dbias and dmean_scale [F].
  void (*graph_norm_backward)(const T* dout, const T* x, const int64_t* ptr, int64_t features,
                              const T* weight, const T* mean_scale, const T* mean, const T* r, int64_t begin,
                              int64_t end, T* dx, T* dweight, T* dbias, T* dmean_scale);
};

template <typename T>
const SegmentKernels<T>& segment_kernels(Level level);

}  // namespace plimsoll
