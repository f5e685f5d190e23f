#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace plimsoll {

/// Adam (Kingma & Ba, ICLR 2015) with torch.optim.Adam's weight decay, preceded by clipping of the gradient's
/// norm as torch.nn.utils.clip_grad_norm_ does it. State is allocated here (Tag::optimizer); step() works in
/// place and allocates nothing, so a step cannot fail for memory.
class Adam {
 public:
  struct Options {
    double learning_rate = 1e-3;
    double weight_decay = 1e-4;
    double clip_norm = 1.0;  ///< 0: no clipping
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-8;
  };

  /// f32 contiguous tensors, which are updated in place.
  Adam(std::vector<at::Tensor> parameters, const Options& options);

  /// `gradients` are scaled in place when their norm is over clip_norm. Returns the norm before.
  double step(const std::vector<at::Tensor>& gradients);

 private:
  std::vector<at::Tensor> parameters_;
  std::vector<at::Tensor> mean_;
  std::vector<at::Tensor> square_;
  Options options_;
  int64_t steps_ = 0;
};

}  // namespace plimsoll
