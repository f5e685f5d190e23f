#pragma once

// The instances of the templates in aggregate_gpu.h, attention_gpu.h, logit_losses_gpu.h,
// path_message_gpu.h and segment_gpu.h, for the files that define them. T is a type.
// NOLINTBEGIN(bugprone-macro-parentheses)

#define PLIMSOLL_AGGREGATE_CUDA(T) template void aggregate_cuda(const AggregateInput<T>&, int64_t, T*, void*);

#define PLIMSOLL_GAT_CUDA(T)                                                                              \
  template void gat_scores_cuda(const T*, const GatScores<T>&, int64_t, int64_t, int64_t, T*, T*, void*); \
  template void gat_forward_cuda(const Gat<T>&, T*, void*);                                               \
  template void gat_backward_cuda(const Gat<T>&, const GatGradients<T>&, const GatScores<T>&,             \
                                  const OutEdges&, T*, void*);

#define PLIMSOLL_GATV2_CUDA(T)                                  \
  template void gatv2_forward_cuda(const Gatv2<T>&, T*, void*); \
  template void gatv2_backward_cuda(const Gatv2<T>&, const Gatv2Gradients<T>&, const OutEdges&, T*, void*);

#define PLIMSOLL_LOGIT_LOSSES_CUDA(T)                                           \
  template void cross_entropy_cuda(const LogitTile<T>&, const int64_t*, void*); \
  template void multilabel_bce_cuda(const LogitTile<T>&, const int64_t*, const int64_t*, void*);

#define PLIMSOLL_PATHS_CUDA(T)                                                  \
  template void find_paths_cuda(const FoundPaths<T>&, void*);                   \
  template void gather_rows_cuda(const GatheredRows<T>&, int64_t count, void*); \
  template void scatter_rows_cuda(const ScatteredRows<T>&, void*);

#define PLIMSOLL_SEGMENT_CUDA(T)                                                                             \
  template void segment_reduce_cuda(const T*, const int64_t*, int64_t, int64_t, Reduce, T*, void*);          \
  template void segment_reduce_backward_cuda(const T*, const T*, const T*, const int64_t*, int64_t, int64_t, \
                                             Reduce, T*, void*);                                             \
  template void segment_softmax_cuda(const T*, const int64_t*, int64_t, int64_t, T*, void*);                 \
  template void segment_softmax_backward_cuda(const T*, const T*, const int64_t*, int64_t, int64_t, T*,      \
                                              void*);                                                        \
  template void graph_norm_cuda(const T*, const int64_t*, int64_t, int64_t, const T*, const T*, const T*, T, \
                                T*, T*, T*, void*);                                                          \
  template void graph_norm_backward_cuda(const T*, const T*, const int64_t*, int64_t, int64_t, const T*,     \
                                         const T*, const T*, const T*, T*, T*, T*, void*);

// NOLINTEND(bugprone-macro-parentheses)
