#pragma once

#include <string>
#include <vector>

#include "engine/blocks/block_terms.h"
#include "memory/tape.h"
#include "nn/objective.h"

namespace plimsoll {

/// Returns the tape of a block with these terms, forward and, if `training`, backward, without running the
/// block: the objective's own code runs over tensors without data. The parameters must have no data
/// (MetaParameters). Nothing is computed, and only the sizes need memory.
///
/// The tape has all pieces of a real block's tape. Their order may differ where torch's operations on data
/// allocate short-lived pieces in another order. Errors: UsageError that names the operation, if torch or the
/// objective does not support it without data.
Tape tape_without_data(const Objective& objective, const BlockTerms& block, const RowWidths& widths,
                       bool training, bool recompute);

/// The module under which the tensors of collate() are recorded.
inline constexpr const char* kBatchModule = "batch";

/// The tape of a block on a CUDA device.
struct CudaTape {
  Tape tape;
  std::vector<std::string> without_cuda;  ///< Same as MetaTensors::without_cuda().
};
/// Does the same as tape_without_data() for a CUDA device: the project's operators allocate like their CUDA
/// kernels, and torch's own operators as on the CPU. The tensors of the block's source are copied to the
/// device, so they are part of the tape. Errors: the same.
CudaTape cuda_tape_without_data(const Objective& objective, const BlockTerms& block, const RowWidths& widths,
                                bool training, bool recompute);

}  // namespace plimsoll
