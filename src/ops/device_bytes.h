#pragma once

#include "ops/attention_bytes.h"

namespace plimsoll {

// What operators take of a CUDA device beyond their outputs and what they save, in bytes: `workspace` of
// attention_bytes.h, for the tensors of NAME_device.cc. Tensors are counted exactly. What torch's sort takes
// for itself is not known without a device: 64 bytes an edge are an estimate, until one has run it.

inline constexpr int64_t kSortBytes = 64;  ///< a number, of torch's sort with its operands

int64_t gat_device_workspace(const AttentionShape& shape);
int64_t gat_backward_device_workspace(const AttentionShape& shape);
int64_t gatv2_device_workspace(const AttentionShape& shape);
int64_t gatv2_backward_device_workspace(const AttentionShape& shape);
/// With gradients; without them it is one number less for each row of a tile.
int64_t linear_losses_device_workspace(int64_t classes, at::ScalarType dtype);
int64_t aggregate_backward_device_workspace(int64_t sources, int64_t edges);
int64_t embedding_backward_device_workspace(int64_t rows, int64_t nodes);
int64_t edge_order_device_workspace(int64_t targets, int64_t edges);

}  // namespace plimsoll
