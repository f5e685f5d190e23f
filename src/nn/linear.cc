#include "nn/linear.h"

#include <ATen/ops/linear.h>

#include <optional>

namespace plimsoll {

Linear::Linear(ParameterList& parameters, const std::string& prefix, int64_t in, int64_t out, bool bias)
    : weight_(parameters.add(prefix + ".weight", {out, in}, Init::linear(in))),
      bias_(bias ? parameters.add(prefix + ".bias", {out}, Init::linear(in)) : at::Tensor()) {}

Linear Linear::glorot(ParameterList& parameters, const std::string& prefix, int64_t in, int64_t out) {
  Linear linear;
  linear.weight_ = parameters.add(prefix + ".weight", {out, in}, Init::glorot(in, out));
  linear.bias_ = parameters.add(prefix + ".bias", {out}, Init::zeros());
  return linear;
}

at::Tensor Linear::forward(const at::Tensor& x) const {
  return at::linear(x, weight_, bias_.defined() ? std::optional(bias_) : std::nullopt);
}

}  // namespace plimsoll
