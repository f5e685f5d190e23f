#include "nn/batch_norm.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

namespace plimsoll {
namespace {

constexpr double kEpsilon = 1e-5;

}  // namespace

BatchNorm::BatchNorm(ParameterList& parameters, const std::string& prefix, int64_t channels)
    : weight_(parameters.add(prefix + ".weight", {channels}, Init::constant(1))),
      bias_(parameters.add(prefix + ".bias", {channels}, Init::zeros())),
      buffer_(parameters.buffers().size()),
      mean_(parameters.add_buffer(prefix + ".running_mean", {channels}, 0)),
      variance_(parameters.add_buffer(prefix + ".running_var", {channels}, 1)) {}

at::Tensor BatchNorm::forward(const at::Tensor& x, const Batch& batch, bool training) const {
  const int64_t rows = x.size(0);
  if (rows == 0) return x * weight_ + bias_;  // Torch would divide by the number of rows.
  if (!training || rows < 2)
    return std::get<0>(at::native_batch_norm(x, weight_, bias_, mean_, variance_, false, 0, kEpsilon));
  const auto [out, mean, scale] = at::native_batch_norm(x, weight_, bias_, {}, {}, true, 0, kEpsilon);
  if (batch.statistics != nullptr && !batch.statistics->has(buffer_)) {
    // The variable `scale` is 1 / sqrt(biased variance + epsilon).
    const double unbiased = static_cast<double>(rows) / static_cast<double>(rows - 1);
    const at::Tensor variance = scale.detach().pow(-2).sub_(kEpsilon).mul_(unbiased);
    batch.statistics->entries.push_back({buffer_, rows, mean.detach(), variance});
  }
  return out;
}

}  // namespace plimsoll
