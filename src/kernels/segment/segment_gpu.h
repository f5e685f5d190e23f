#pragma once

#include "kernels/segment/segment.h"
#include "kernels/warp.h"

namespace plimsoll {

// The reductions of segment.h on a CUDA device, all segments in one call, in f32 or f64. x is [N, F], ptr is
// [segments + 1], and all arrays are in device memory. attention_gpu.h describes the stream, the order of
// sums, errors, and builds without CUDA. Gradients are overwritten.

template <typename T>
void segment_reduce_cuda(const T* x, const int64_t* ptr, int64_t segments, int64_t features, Reduce kind,
                         T* out, void* stream);
template <typename T>
void segment_reduce_backward_cuda(const T* dout, const T* x, const T* out, const int64_t* ptr,
                                  int64_t segments, int64_t features, Reduce kind, T* dx, void* stream);

template <typename T>
void segment_softmax_cuda(const T* x, const int64_t* ptr, int64_t segments, int64_t features, T* out,
                          void* stream);
template <typename T>
void segment_softmax_backward_cuda(const T* dout, const T* out, const int64_t* ptr, int64_t segments,
                                   int64_t features, T* dx, void* stream);

template <typename T>
void graph_norm_cuda(const T* x, const int64_t* ptr, int64_t segments, int64_t features, const T* weight,
                     const T* bias, const T* mean_scale, T eps, T* out, T* mean, T* r, void* stream);

/// Returns the size of the workspace in numbers.
constexpr int64_t graph_norm_backward_workspace(int64_t segments, int64_t features) {
  return Parts::max_numbers(segments, 3 * features);
}
/// dweights [3, F] are the gradients of weight, bias and mean_scale.
template <typename T>
void graph_norm_backward_cuda(const T* dout, const T* x, const int64_t* ptr, int64_t segments,
                              int64_t features, const T* weight, const T* mean_scale, const T* mean,
                              const T* r, T* dx, T* dweights, T* workspace, void* stream);

}  // namespace plimsoll
