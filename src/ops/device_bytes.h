#pragma once

#include "ops/attention/attention_bytes.h"

namespace plimsoll {

// Bytes that operators allocate on a CUDA device in addition to their outputs and saved tensors: `workspace`
// of attention_bytes.h, for the tensors of NAME_gpu.cc. Tensors are counted exactly. The memory that torch's
// sort allocates cannot be determined without a device, so kSortBytes is an estimate that has not yet been
// checked on one.

inline constexpr int64_t kSortBytes = 64;  ///< Bytes per number that torch sorts, including the operands.

int64_t gat_device_workspace(const AttentionShape& shape);
int64_t gat_backward_device_workspace(const AttentionShape& shape);
int64_t gatv2_device_workspace(const AttentionShape& shape);
int64_t gatv2_backward_device_workspace(const AttentionShape& shape);
/// Returns the workspace with gradients. Without gradients, the workspace is smaller by one number per row of
/// a tile.
int64_t linear_losses_device_workspace(int64_t classes, at::ScalarType dtype);
int64_t aggregate_backward_device_workspace(int64_t sources, int64_t edges);
int64_t embedding_backward_device_workspace(int64_t rows, int64_t nodes);
int64_t edge_order_device_workspace(int64_t targets, int64_t edges);

}  // namespace plimsoll
