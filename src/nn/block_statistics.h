#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <vector>

namespace plimsoll {

/// What layers that normalise over a block (Hoffer et al., "Train longer, generalize better", NeurIPS 2017:
/// ghost batch normalisation) found in one block, for running statistics that move once a batch. Belongs to
/// one block, so to one thread.
///
/// A layer that is recomputed (nn/recompute.h) finds that it has been here: has().
struct BlockStatistics {
  struct Entry {
    size_t buffer;        ///< index in ParameterList::buffers() of the running mean; the variance is next
    int64_t rows;         ///< that were normalised
    at::Tensor mean;      ///< f32 [F]
    at::Tensor variance;  ///< f32 [F], unbiased
  };
  std::vector<Entry> entries;

  bool has(size_t buffer) const {
    return std::any_of(entries.begin(), entries.end(),
                       [&](const Entry& entry) { return entry.buffer == buffer; });
  }
};

}  // namespace plimsoll
