#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "engine/blocks/running_statistics.h"
#include "nn/parameters.h"

namespace plimsoll {

/// What the blocks of a batch add up to: the gradient of each parameter, what layers that normalise found,
/// and the loss. Its memory is taken when it is made, gradients under Tag::gradients. Not thread-safe.
class BatchSum {
 public:
  /// `parameters` must outlive it. `row`: the gradients are views of one row of so many numbers, one after
  /// the other, with zeros after their end; 0: each has memory of its own.
  explicit BatchSum(const ParameterList& parameters, int64_t row = 0);

  void clear();
  void add(const BatchSum& right);
  /// One block. `gradients`: one a parameter.
  void add(const std::vector<at::Tensor>& gradients, const BlockStatistics& statistics, double loss);

  at::Tensor row;                     ///< f32 [row]; undefined without one
  std::vector<at::Tensor> gradients;  ///< f32, one for each parameter and of its shape
  RunningStatistics statistics;
  double loss = 0;
};

}  // namespace plimsoll
