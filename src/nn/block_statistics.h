#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <vector>

namespace plimsoll {

/// Statistics that layers computed while they normalised over one block (ghost batch normalisation: Hoffer et
/// al., "Train longer, generalize better", NeurIPS 2017). They update the running statistics once per batch.
/// Belongs to one block, and so to one thread.
///
/// A layer that is recomputed (nn/recompute.h) checks has(), so that it does not add its statistics twice.
struct BlockStatistics {
  struct Entry {
    size_t buffer;  ///< Index of the running mean in ParameterList::buffers(); the running variance is next.
    int64_t rows;   ///< Number of rows that were normalised.
    at::Tensor mean;      ///< Mean, f32 [F].
    at::Tensor variance;  ///< Unbiased variance, f32 [F].
  };
  std::vector<Entry> entries;

  bool has(size_t buffer) const {
    return std::any_of(entries.begin(), entries.end(),
                       [&](const Entry& entry) { return entry.buffer == buffer; });
  }
};

}  // namespace plimsoll
