#pragma once

#include "nn/batch.h"
#include "sample/block.h"

namespace plimsoll {

/// A block as tensors. `x` is a view of the block, which must outlive the batch; the rest is new.
Batch collate(const GraphBlock& block, int64_t node_features);

}  // namespace plimsoll
