#include "ops/device_bytes.h"

#include "kernels/attention/attention_gpu.h"
#include "kernels/out_edges/out_edges_gpu.h"
#include "ops/linear_losses/linear_losses.h"

namespace plimsoll {
namespace {

// Returns the sizes that the workspaces of kernels/attention/attention_gpu.h depend on.
Attention<float> layer_of(const AttentionShape& shape) {
  Attention<float> layer;
  layer.order.sources = shape.sources;
  layer.order.targets = shape.targets;
  // Maximum number of edges, because the host does not know how many a device's order keeps.
  layer.order.edges = shape.edges;
  layer.heads = shape.heads;
  layer.channels = shape.channels;
  layer.edge_features = shape.edge_features;
  layer.loops = shape.loops;
  return layer;
}

int64_t number_bytes(const AttentionShape& shape) {
  return static_cast<int64_t>(c10::elementSize(shape.dtype));
}

int64_t rows(const AttentionShape& shape, int64_t nodes) {
  return nodes * shape.heads * shape.channels * number_bytes(shape);
}

int64_t out_edges_bytes(int64_t sources, int64_t edges) {
  return (sources + 1 + 2 * edges) * static_cast<int64_t>(sizeof(int32_t)) + out_edges_buffer_bytes(edges);
}

// Returns the bytes of the projections that are not kept.
int64_t projections(const AttentionShape& shape, bool own) {
  if (shape.keep_projection) return 0;
  return rows(shape, shape.sources) + (own ? rows(shape, shape.targets) : 0);
}

bool has_own_targets(const AttentionShape& shape) {
  return !shape.share_weights || shape.other_targets;
}

}  // namespace

int64_t gat_device_workspace(const AttentionShape& shape) {
  return projections(shape, false) + gat_forward_workspace(layer_of(shape)) * number_bytes(shape);
}

int64_t gat_backward_device_workspace(const AttentionShape& shape) {
  const int64_t scores =
      (shape.sources + (shape.other_targets ? 0 : shape.targets)) * shape.heads * number_bytes(shape);
  return projections(shape, false) + rows(shape, shape.sources) + scores +
         out_edges_bytes(shape.sources, shape.edges) +
         gat_backward_workspace(layer_of(shape)) * number_bytes(shape);
}

int64_t gatv2_device_workspace(const AttentionShape& shape) {
  return projections(shape, has_own_targets(shape)) +
         gatv2_forward_workspace(layer_of(shape)) * number_bytes(shape);
}

int64_t gatv2_backward_device_workspace(const AttentionShape& shape) {
  const bool own = has_own_targets(shape);
  return projections(shape, own) + rows(shape, shape.sources) + (own ? rows(shape, shape.targets) : 0) +
         out_edges_bytes(shape.sources, shape.edges) +
         gatv2_backward_workspace(layer_of(shape)) * number_bytes(shape);
}

int64_t edge_order_device_workspace(int64_t targets, int64_t edges) {
  return edges * kSortBytes + 3 * (targets + 1) * static_cast<int64_t>(sizeof(int64_t));
}

// A tile of logits, and a vector of ones that sums the gradient of the bias.
int64_t linear_losses_device_workspace(int64_t classes, at::ScalarType dtype) {
  return kDeviceLogitRows * (classes + 1) * static_cast<int64_t>(c10::elementSize(dtype));
}

// The ids as i32, both ends of the edges from ids to the one target, and the nodes sorted by id.
int64_t embedding_backward_device_workspace(int64_t rows, int64_t nodes) {
  return (nodes + 2) * int64_t{sizeof(int32_t)} + out_edges_bytes(rows, nodes);
}

int64_t aggregate_backward_device_workspace(int64_t sources, int64_t edges) {
  // The last term is for indices of edges.
  return out_edges_bytes(sources, edges) + edges * int64_t{sizeof(int32_t)};
}

}  // namespace plimsoll
