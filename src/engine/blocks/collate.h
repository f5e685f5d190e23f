#pragma once

#include "nn/batch.h"
#include "sample/block/block.h"

namespace plimsoll {

/// A block as tensors. `x`, `row_place`, `edge_attr`, `graph_ptr` and `teacher` are views of the block, which
/// must outlive the batch; the rest is new. Errors: InputError for node labels that are asked for and not
/// there.
Batch collate(const GraphBlock& block, const RowWidths& widths, const CollateOptions& options = {});

}  // namespace plimsoll
