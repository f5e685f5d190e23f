#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "engine/blocks/running_statistics.h"
#include "nn/parameters.h"

namespace plimsoll {

/// Sums over the blocks of a batch: the gradient of each parameter, the statistics of normalising layers, and
/// the loss. The constructor allocates all memory, gradients under Tag::gradients. Not thread-safe.
class BatchSum {
 public:
  /// `parameters` must outlive the sum. If `row` is positive, the gradients are consecutive views of one row
  /// of `row` numbers, which ends with zeros. If it is 0, each gradient has separate memory.
  explicit BatchSum(const ParameterList& parameters, int64_t row = 0);

  void clear();
  void add(const BatchSum& right);
  /// Adds one block. `gradients` has one tensor per parameter.
  void add(const std::vector<at::Tensor>& gradients, const BlockStatistics& statistics, double loss);

  at::Tensor row;                     ///< F32 [row]; undefined if `row` was 0.
  std::vector<at::Tensor> gradients;  ///< F32, one per parameter and of its shape.
  RunningStatistics statistics;
  double loss = 0;
};

}  // namespace plimsoll
