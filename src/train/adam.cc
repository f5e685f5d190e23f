#include "train/adam.h"

#include <ATen/ops/zeros_like.h>

#include <cmath>

#include "ops/allocator.h"

namespace plimsoll {

Adam::Adam(std::vector<at::Tensor> parameters, const Options& options)
    : parameters_(std::move(parameters)), options_(options) {
  const TagScope scope(Tag::optimizer);
  for (const at::Tensor& parameter : parameters_) {
    mean_.push_back(at::zeros_like(parameter));
    square_.push_back(at::zeros_like(parameter));
  }
}

double Adam::step(const std::vector<at::Tensor>& gradients) {
  double squares = 0;
  for (const at::Tensor& gradient : gradients) {
    const float* const g = gradient.const_data_ptr<float>();
    for (int64_t i = 0; i < gradient.numel(); ++i) squares += static_cast<double>(g[i]) * g[i];
  }
  const double norm = std::sqrt(squares);
  const bool clipped = options_.clip_norm > 0 && norm > options_.clip_norm;
  const auto scale = static_cast<float>(clipped ? options_.clip_norm / (norm + 1e-6) : 1.0);

  ++steps_;
  const double correction1 = 1.0 - std::pow(options_.beta1, static_cast<double>(steps_));
  const double correction2 = 1.0 - std::pow(options_.beta2, static_cast<double>(steps_));
  const auto step_size = static_cast<float>(options_.learning_rate / correction1);
  const auto root_correction2 = static_cast<float>(std::sqrt(correction2));
  const auto decay = static_cast<float>(options_.weight_decay);
  const auto beta2 = static_cast<float>(options_.beta2);
  const auto rest1 = static_cast<float>(1.0 - options_.beta1);
  const auto rest2 = static_cast<float>(1.0 - options_.beta2);
  const auto epsilon = static_cast<float>(options_.epsilon);
  for (size_t p = 0; p < parameters_.size(); ++p) {
    float* const w = parameters_[p].data_ptr<float>();
    float* const m = mean_[p].data_ptr<float>();
    float* const v = square_[p].data_ptr<float>();
    float* const gradient = gradients[p].data_ptr<float>();
    for (int64_t i = 0; i < parameters_[p].numel(); ++i) {
      gradient[i] *= scale;
      const float g = gradient[i] + decay * w[i];
      m[i] += rest1 * (g - m[i]);
      v[i] = beta2 * v[i] + rest2 * g * g;
      w[i] -= step_size * m[i] / (std::sqrt(v[i]) / root_correction2 + epsilon);
    }
  }
  return norm;
}

}  // namespace plimsoll
