#pragma once

#include "memory/tape.h"
#include "nn/objective.h"
#include "train/engine/block_terms.h"

namespace plimsoll {

/// The tape of a block with these terms, forward and, if `training`, backward, without running it: the
/// objective's own code over tensors without data. The parameters must be such (MetaParameters). Nothing is
/// computed and no memory is taken but for the sizes.
///
/// The tape has all that a block's own tape has, and may have its pieces in another order, where torch's
/// operations for tensors with data take short-lived pieces otherwise. Errors: UsageError that names the
/// operation, where torch or its caller does not know it without data.
Tape tape_without_data(const Objective& objective, const BlockTerms& block, const RowWidths& widths,
                       bool training, bool recompute);

}  // namespace plimsoll
