#pragma once

#include "nn/batch.h"
#include "sample/block/block.h"

namespace plimsoll {

/// Makes a batch of samples with node types: Batch::types and the labels. Its tensors of numbers and codes
/// are views of the block, which must outlive the batch. Errors: those of edge_order().
Batch collate_types(const GraphBlock& block, const RowWidths& widths, const CollateOptions& options);

}  // namespace plimsoll
