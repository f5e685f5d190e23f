#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "nn/parameters.h"

namespace plimsoll {

/// A linear layer, x W^T + b, with the parameter names and initial bounds of torch.nn.Linear.
class Linear {
 public:
  Linear() = default;
  Linear(ParameterList& parameters, const std::string& prefix, int64_t in, int64_t out, bool bias = true);

  /// Returns the linear layer of PyG's attention, whose initial weights have the bound of Glorot & Bengio and
  /// whose initial bias is 0.
  static Linear glorot(ParameterList& parameters, const std::string& prefix, int64_t in, int64_t out);

  /// Maps [N, in] to [N, out].
  at::Tensor forward(const at::Tensor& x) const;

  const at::Tensor& weight() const { return weight_; }
  const at::Tensor& bias() const { return bias_; }  ///< Undefined for a layer without bias.

 private:
  at::Tensor weight_;
  at::Tensor bias_;
};

}  // namespace plimsoll
