#include "kernels/segment/segment_steps.h"

#include "kernels/cuda_instances.h"
#include "kernels/cuda_warp.h"

namespace plimsoll {
namespace {

template <typename Step>
void over_segments(const Step& step, void* stream) {
  CudaLaunch launch(stream);
  launch(step.segments.count * step.segments.blocks(), step);
}

}  // namespace

template <typename T>
void segment_reduce_cuda(const T* x, const int64_t* ptr, int64_t segments, int64_t features, Reduce kind,
                         T* out, void* stream) {
  over_segments(SegmentReduce<T>{{ptr, segments, features}, x, kind, out}, stream);
}

template <typename T>
void segment_reduce_backward_cuda(const T* dout, const T* x, const T* out, const int64_t* ptr,
                                  int64_t segments, int64_t features, Reduce kind, T* dx, void* stream) {
  over_segments(SegmentReduceBackward<T>{{ptr, segments, features}, dout, x, out, kind, dx}, stream);
}

template <typename T>
void segment_softmax_cuda(const T* x, const int64_t* ptr, int64_t segments, int64_t features, T* out,
                          void* stream) {
  over_segments(SegmentSoftmax<T>{{ptr, segments, features}, x, out}, stream);
}

template <typename T>
void segment_softmax_backward_cuda(const T* dout, const T* out, const int64_t* ptr, int64_t segments,
                                   int64_t features, T* dx, void* stream) {
  over_segments(SegmentSoftmaxBackward<T>{{ptr, segments, features}, dout, out, dx}, stream);
}

template <typename T>
void graph_norm_cuda(const T* x, const int64_t* ptr, int64_t segments, int64_t features, const T* weight,
                     const T* bias, const T* mean_scale, T eps, T* out, T* mean, T* r, void* stream) {
  over_segments(GraphNorm<T>{{ptr, segments, features}, x, weight, bias, mean_scale, eps, out, mean, r},
                stream);
}

template <typename T>
void graph_norm_backward_cuda(const T* dout, const T* x, const int64_t* ptr, int64_t segments,
                              int64_t features, const T* weight, const T* mean_scale, const T* mean,
                              const T* r, T* dx, T* dweights, T* workspace, void* stream) {
  run_graph_norm_backward<T>({ptr, segments, features}, dout, x, weight, mean_scale, mean, r, dx, dweights,
                             workspace, CudaLaunch(stream));
}

PLIMSOLL_SEGMENT_CUDA(float)
PLIMSOLL_SEGMENT_CUDA(double)

}  // namespace plimsoll
