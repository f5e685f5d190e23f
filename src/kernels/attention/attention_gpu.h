#pragma once

#include <algorithm>

#include "kernels/gat/gat.h"
#include "kernels/gatv2/gatv2.h"
#include "kernels/warp.h"

namespace plimsoll {

// Graph attention on a CUDA device: the formulas of gat.h and gatv2.h on arrays in device memory, in f32 or
// f64. One call computes all nodes. The work is put on `stream` (a cudaStream_t) of the current device, and
// the call does not wait for it. The arrays must live until the work is done; host structs are copied. The
// caller provides the workspace, whose initial content does not matter. A function next to each call returns
// the size of its workspace in numbers. Sums have a fixed order and there are no atomics, so the same device
// always gives the same bits. The bits differ from those of the CPU, but dropout drops the same weights.
//
// The order may have been filled on the device (ops/attention/edge_order_gpu.h), so its counts need not be
// known. Only sources, targets, in_ptr, source, edge and `edges` of an EdgeOrder are read; `edges` may be
// more than the order keeps. The same holds for OutEdges. Values and gradients are overwritten, not added to.
// Entries of alpha and edge_attr that belong to edges outside the order are left unchanged. `handoff` of the
// gradients is not read.
//
// In a build without CUDA these functions throw Failure that says how to get a build with it. Errors: Failure
// with CUDA's own text. Thread-safe.

/// The vectors from which Gat::s and Gat::t are computed, s = <z, att_source> and t = <z, att_target> by
/// head, and their gradients.
template <typename T>
struct GatScores {
  const T* att_source = nullptr;  ///< [H, D].
  const T* att_target = nullptr;  ///< [H, D]; null if sources and targets are different nodes.
  T* source_gradient = nullptr;   ///< [H, D], gradient of att_source; null if not requested.
  T* target_gradient = nullptr;   ///< [H, D], gradient of att_target.
};

/// Returns the number of rows, one per edge and added self-loop, that a workspace holds.
template <typename T>
constexpr int64_t attention_rows(const Attention<T>& layer) {
  return layer.order.edges + (layer.loops ? layer.order.targets : 0);
}

/// Computes s, and t if it is not null, for `nodes` nodes.
template <typename T>
void gat_scores_cuda(const T* z, const GatScores<T>& scores, int64_t heads, int64_t channels, int64_t nodes,
                     T* s, T* t, void* stream);

template <typename T>
constexpr int64_t gat_forward_workspace(const Attention<T>& layer) {
  return attention_rows(layer) * layer.heads;
}
template <typename T>
void gat_forward_cuda(const Gat<T>& layer, T* workspace, void* stream);

template <typename T>
constexpr int64_t gat_backward_workspace(const Attention<T>& layer) {
  const int64_t width = layer.heads * layer.channels;
  return attention_rows(layer) * 2 * layer.heads +
         Parts::max_numbers(std::max(layer.order.sources, layer.order.targets),
                            std::max(layer.edge_features * layer.heads, width));
}
/// Runs backward. The gradient of z includes the part through s, and the part through t if there is an
/// att_target.
template <typename T>
void gat_backward_cuda(const Gat<T>& layer, const GatGradients<T>& gradients, const GatScores<T>& scores,
                       const OutEdges& edges, T* workspace, void* stream);

template <typename T>
constexpr int64_t gatv2_forward_workspace(const Attention<T>& layer) {
  return attention_rows(layer) * layer.heads + layer.order.targets * layer.edge_features;
}
template <typename T>
void gatv2_forward_cuda(const Gatv2<T>& layer, T* workspace, void* stream);

template <typename T>
constexpr int64_t gatv2_backward_workspace(const Attention<T>& layer) {
  return attention_rows(layer) * 2 * layer.heads + 2 * layer.order.targets * layer.edge_features +
         Parts::max_numbers(layer.order.targets, layer.heads * layer.channels * (layer.edge_features + 1));
}
/// Runs backward. If z_target is z, its gradient must be that of z, which then becomes the sum of both.
template <typename T>
void gatv2_backward_cuda(const Gatv2<T>& layer, const Gatv2Gradients<T>& gradients, const OutEdges& edges,
                         T* workspace, void* stream);

}  // namespace plimsoll
