#pragma once

#include <string>

#include "nn/batch.h"
#include "nn/parameters.h"

namespace plimsoll {

/// torch.nn.BatchNorm1d over the nodes of a block (ghost batch normalisation): the block limits are part of
/// what is computed. Parameters weight, bias; buffers running_mean, running_var.
class BatchNorm {
 public:
  BatchNorm(ParameterList& parameters, const std::string& prefix, int64_t channels);

  /// x f32 [N, channels]. In training the block's own statistics, which batch.statistics gets; else, and in a
  /// block of fewer than two nodes, the running ones.
  at::Tensor forward(const at::Tensor& x, const Batch& batch, bool training) const;

 private:
  at::Tensor weight_;
  at::Tensor bias_;
  size_t buffer_;  // the index of running_mean
  at::Tensor mean_;
  at::Tensor variance_;
};

}  // namespace plimsoll
