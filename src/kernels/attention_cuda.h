#pragma once

#include <algorithm>

#include "kernels/gat.h"
#include "kernels/gatv2.h"
#include "kernels/warp.h"

namespace plimsoll {

// Graph attention on a CUDA device: the formulas of gat.h and gatv2.h on arrays in device memory, f32 and
// f64. One call does all nodes. Work is put on `stream` (a cudaStream_t) of the current device; nothing waits
// for it. The arrays must live until it is done; host structs are copied. A workspace is the caller's; its
// contents do not matter, and its size in numbers is declared by a function beside the call. Sums have a
// fixed order and there are no atomics: the same device gives the same bits each time. These are not the
// CPU's bits; what dropout drops is the same.
//
// The order may have been filled on the device (ops/device_order.h), so its counts need not be known: of
// an EdgeOrder sources, targets, in_ptr, source and edge are read, and `edges`, which may be more than there
// are; OutEdges likewise. Values and gradients are overwritten, not added to; those of edges that are not in
// the order, in alpha and edge_attr, are left alone. `handoff` of the gradients is not read.
//
// A build without CUDA has these functions too; they say how to get them. Errors: Failure with CUDA's own
// text. Thread-safe.

/// What gives Gat::s and Gat::t: s = <z, att_source>, t = <z, att_target> by head, and their gradients.
template <typename T>
struct GatScores {
  const T* att_source = nullptr;  ///< [H, D]
  const T* att_target = nullptr;  ///< [H, D]; null where targets are other nodes than sources
  T* source_gradient = nullptr;   ///< [H, D] of att_source; null if not asked for
  T* target_gradient = nullptr;   ///< [H, D] of att_target
};

/// Rows of numbers by edge that a workspace holds.
template <typename T>
constexpr int64_t attention_rows(const Attention<T>& layer) {
  return layer.order.edges + (layer.loops ? layer.order.targets : 0);
}

/// s, and t where it is not null, of `nodes` nodes.
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
/// The gradient of z includes what comes by way of s, and of t where there is an att_target.
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
/// Where z_target is z, its gradient must be z's too: it gets the sum.
template <typename T>
void gatv2_backward_cuda(const Gatv2<T>& layer, const Gatv2Gradients<T>& gradients, const OutEdges& edges,
                         T* workspace, void* stream);

}  // namespace plimsoll
