#pragma once

#include "ops/path_message/path_message.h"

namespace plimsoll {

// The layer of path_message.h on a CUDA device. The device finds paths by their index, one tile at a time,
// and torch computes the products. Terms of edges and triples are computed once per path; terms of nodes are
// computed once per node. Edges must come from path_edges(), on the device, and are not checked. The sums of
// a tile are added in the order of paths, however many paths the device computes at the same time.

at::Tensor path_message_on_device(const at::Tensor& x, const at::Tensor& pos, const PathEdges& edges,
                                  const PathWeights& weights, const PathOptions& options);
std::pair<at::Tensor, PathWeights> path_message_backward_on_device(const at::Tensor& grad,
                                                                   const at::Tensor& x, const at::Tensor& pos,
                                                                   const PathEdges& edges,
                                                                   const PathWeights& weights,
                                                                   const PathOptions& options);

/// Returns the bytes that these functions need in addition to their results. `edges` is the length of
/// PathEdges::target.
int64_t path_device_workspace(const PathSizes& sizes, int64_t edges, bool backward, size_t number_bytes);

}  // namespace plimsoll
