#include "base/error.h"
#include "kernels/aggregate/aggregate_gpu.h"
#include "kernels/attention/attention_gpu.h"
#include "kernels/cuda_instances.h"
#include "kernels/logit_losses/logit_losses_gpu.h"
#include "kernels/out_edges/out_edges_gpu.h"
#include "kernels/path_message/path_message_gpu.h"
#include "kernels/place_rows/place_rows_gpu.h"
#include "kernels/segment/segment_gpu.h"

#ifndef PLIMSOLL_CUDA

namespace plimsoll {
namespace {

[[noreturn]] void refuse_layer() {
  throw Failure("this build has no CUDA kernels; configure with `cmake --preset cuda`, which needs nvcc");
}

}  // namespace

template <typename T>
void aggregate_cuda(const AggregateInput<T>&, int64_t, T*, void*) {
  refuse_layer();
}
template <typename T>
void gat_scores_cuda(const T*, const GatScores<T>&, int64_t, int64_t, int64_t, T*, T*, void*) {
  refuse_layer();
}
template <typename T>
void gat_forward_cuda(const Gat<T>&, T*, void*) {
  refuse_layer();
}
template <typename T>
void gat_backward_cuda(const Gat<T>&, const GatGradients<T>&, const GatScores<T>&, const OutEdges&, T*,
                       void*) {
  refuse_layer();
}
template <typename T>
void gatv2_forward_cuda(const Gatv2<T>&, T*, void*) {
  refuse_layer();
}
template <typename T>
void gatv2_backward_cuda(const Gatv2<T>&, const Gatv2Gradients<T>&, const OutEdges&, T*, void*) {
  refuse_layer();
}
// The symbol is weak, like instances of templates, because tests replace it.
[[gnu::weak]] void out_edges_cuda(const EdgeOrder&, int32_t*, int32_t*, int32_t*, int32_t*, void*) {
  refuse_layer();
}
[[gnu::weak]] void place_rows_cuda(const PlacedRows&, void*) {
  refuse_layer();
}
[[gnu::weak]] void count_edge_paths_cuda(const PathGraph&, int64_t, int64_t*, void*) {
  refuse_layer();
}
template <typename T>
void find_paths_cuda(const FoundPaths<T>&, void*) {
  refuse_layer();
}
template <typename T>
void gather_rows_cuda(const GatheredRows<T>&, int64_t, void*) {
  refuse_layer();
}
template <typename T>
void scatter_rows_cuda(const ScatteredRows<T>&, void*) {
  refuse_layer();
}
template <typename T>
void cross_entropy_cuda(const LogitTile<T>&, const int64_t*, void*) {
  refuse_layer();
}
template <typename T>
void multilabel_bce_cuda(const LogitTile<T>&, const int64_t*, const int64_t*, void*) {
  refuse_layer();
}
template <typename T>
void segment_reduce_cuda(const T*, const int64_t*, int64_t, int64_t, Reduce, T*, void*) {
  refuse_layer();
}
template <typename T>
void segment_reduce_backward_cuda(const T*, const T*, const T*, const int64_t*, int64_t, int64_t, Reduce, T*,
                                  void*) {
  refuse_layer();
}
template <typename T>
void segment_softmax_cuda(const T*, const int64_t*, int64_t, int64_t, T*, void*) {
  refuse_layer();
}
template <typename T>
void segment_softmax_backward_cuda(const T*, const T*, const int64_t*, int64_t, int64_t, T*, void*) {
  refuse_layer();
}
template <typename T>
void graph_norm_cuda(const T*, const int64_t*, int64_t, int64_t, const T*, const T*, const T*, T, T*, T*, T*,
                     void*) {
  refuse_layer();
}
template <typename T>
void graph_norm_backward_cuda(const T*, const T*, const int64_t*, int64_t, int64_t, const T*, const T*,
                              const T*, const T*, T*, T*, T*, void*) {
  refuse_layer();
}

PLIMSOLL_AGGREGATE_CUDA(float)
PLIMSOLL_AGGREGATE_CUDA(double)
PLIMSOLL_GAT_CUDA(float)
PLIMSOLL_GAT_CUDA(double)
PLIMSOLL_GATV2_CUDA(float)
PLIMSOLL_GATV2_CUDA(double)
PLIMSOLL_LOGIT_LOSSES_CUDA(float)
PLIMSOLL_LOGIT_LOSSES_CUDA(double)
PLIMSOLL_PATHS_CUDA(float)
PLIMSOLL_PATHS_CUDA(double)
PLIMSOLL_SEGMENT_CUDA(float)
PLIMSOLL_SEGMENT_CUDA(double)

}  // namespace plimsoll
#endif
