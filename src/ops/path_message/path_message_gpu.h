#pragma once

#include "ops/path_message/path_message.h"

namespace plimsoll {

// The layer of path_message.h on a CUDA device. Paths are found there by their numbers, a tile at a time, and
// products are torch's. Terms of edges and triples are computed once for each path, and terms of nodes once.
// Edges must come from path_edges(), on the device, and are not checked. Each tile's sums are added in the
// order of paths, whatever the device does at once.

at::Tensor path_message_on_device(const at::Tensor& x, const at::Tensor& pos, const PathEdges& edges,
                                  const PathWeights& weights, const PathOptions& options);
std::pair<at::Tensor, PathWeights> path_message_backward_on_device(const at::Tensor& grad,
                                                                   const at::Tensor& x, const at::Tensor& pos,
                                                                   const PathEdges& edges,
                                                                   const PathWeights& weights,
                                                                   const PathOptions& options);

/// The bytes they take in addition to their results. `edges` is the length of PathEdges::target.
int64_t path_device_workspace(const PathSizes& sizes, int64_t edges, bool backward, size_t number_bytes);

}  // namespace plimsoll
