#pragma once

#include "ops/path_message.h"

namespace plimsoll {

// The layer of path_message.h on a CUDA device: paths are found there by their numbers, a tile at a time, and
// products are torch's. Terms of edges and triples are computed once a path, and nodes' once. Edges are those
// that path_edges() makes, on the device, and are not checked. Each tile's sums are added in the order of
// paths, whatever the device does at once.

at::Tensor path_message_on_device(const at::Tensor& x, const at::Tensor& pos, const PathEdges& edges,
                                  const PathWeights& weights, const PathOptions& options);
std::pair<at::Tensor, PathWeights> path_message_backward_on_device(const at::Tensor& grad,
                                                                   const at::Tensor& x, const at::Tensor& pos,
                                                                   const PathEdges& edges,
                                                                   const PathWeights& weights,
                                                                   const PathOptions& options);

/// What they take beside their results, in bytes; `edges`: for which `target` has room.
int64_t path_device_workspace(const PathSizes& sizes, int64_t edges, bool backward, size_t number_bytes);

}  // namespace plimsoll
