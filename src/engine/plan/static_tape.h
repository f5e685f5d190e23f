#pragma once

#include <string>
#include <vector>

#include "engine/blocks/block_terms.h"
#include "memory/tape.h"
#include "nn/objective.h"

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

/// The module that what collate() makes is recorded under.
inline constexpr const char* kBatchModule = "batch";

/// The tape of a block on a CUDA device: our operators ask as their kernels there do, torch's own as on the
/// CPU, and what the block's source gives is copied there, so that it is part of it.
struct CudaTape {
  Tape tape;
  std::vector<std::string> without_cuda;  ///< as MetaTensors::without_cuda()
};
CudaTape cuda_tape_without_data(const Objective& objective, const BlockTerms& block, const RowWidths& widths,
                                bool training, bool recompute);

}  // namespace plimsoll
