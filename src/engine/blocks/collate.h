#pragma once

#include "nn/batch.h"
#include "sample/block/block.h"

namespace plimsoll {

/// Converts a block to tensors. `x`, `row_place`, `edge_attr`, `edge_weight`, `graph_ptr`, `teacher`,
/// `targets` and `pos` are views of the block, which must outlive the batch; the other tensors are new. If
/// `widths` has a layout, does the same as collate_types(). Errors: InputError if node labels are needed and
/// the data has none; Failure if several samples in one block would have to be trimmed; BudgetExceeded.
Batch collate(const GraphBlock& block, const RowWidths& widths, const CollateOptions& options = {});

}  // namespace plimsoll
