#pragma once

#include "nn/batch.h"
#include "sample/block/block.h"

namespace plimsoll {

/// Converts a block to tensors. `x`, `row_place`, `edge_attr`, `graph_ptr` and `teacher` are views of the
/// block, which must outlive the batch; the other tensors are new. Errors: InputError if node labels are
/// needed and the data has none.
Batch collate(const GraphBlock& block, const RowWidths& widths, const CollateOptions& options = {});

}  // namespace plimsoll
