#pragma once

#include <string>

#include "nn/batch.h"
#include "nn/parameters.h"

namespace plimsoll {

/// torch.nn.BatchNorm1d over the nodes of a block (ghost batch normalisation). The result therefore depends
/// on the maximum sizes of blocks. Parameters: weight, bias. Buffers: running_mean, running_var.
class BatchNorm {
 public:
  BatchNorm(ParameterList& parameters, const std::string& prefix, int64_t channels);

  /// Normalises x, f32 [N, channels]. In training, the statistics of the block are used, and added to
  /// batch.statistics if that is not null. In evaluation, and for a block of fewer than two nodes, the
  /// running statistics are used.
  at::Tensor forward(const at::Tensor& x, const Batch& batch, bool training) const;

 private:
  at::Tensor weight_;
  at::Tensor bias_;
  size_t buffer_;  // Index of running_mean in the buffers.
  at::Tensor mean_;
  at::Tensor variance_;
};

}  // namespace plimsoll
