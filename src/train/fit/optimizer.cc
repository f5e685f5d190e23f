#include "train/fit/optimizer.h"

#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "ops/allocator.h"

namespace plimsoll {
namespace {

// Adam (Kingma & Ba, ICLR 2015) and, where decay is decoupled from the gradient, AdamW.
class Adam : public Optimizer {
 public:
  Adam(std::vector<at::Tensor> parameters, const OptimizerOptions& options, bool decoupled)
      : Optimizer(options),
        parameters_(std::move(parameters)),
        mean_(add_state("exp_avg", parameters_)),
        square_(add_state("exp_avg_sq", parameters_)),
        decoupled_(decoupled) {}

  void step(const std::vector<at::Tensor>& gradients) override {
    ++steps_;
    const double correction1 = 1.0 - std::pow(options_.beta1, static_cast<double>(steps_));
    const double correction2 = 1.0 - std::pow(options_.beta2, static_cast<double>(steps_));
    const auto step_size = static_cast<float>(options_.learning_rate / correction1);
    const auto root_correction2 = static_cast<float>(std::sqrt(correction2));
    const auto decay = static_cast<float>(decoupled_ ? 0.0 : options_.weight_decay);
    const auto kept =
        static_cast<float>(decoupled_ ? 1.0 - options_.learning_rate * options_.weight_decay : 1.0);
    const auto beta2 = static_cast<float>(options_.beta2);
    const auto rest1 = static_cast<float>(1.0 - options_.beta1);
    const auto rest2 = static_cast<float>(1.0 - options_.beta2);
    const auto epsilon = static_cast<float>(options_.epsilon);
    for (size_t p = 0; p < parameters_.size(); ++p) {
      float* const w = parameters_[p].data_ptr<float>();
      float* const m = mean_[p].data_ptr<float>();
      float* const v = square_[p].data_ptr<float>();
      const float* const gradient = gradients[p].const_data_ptr<float>();
      for (int64_t i = 0; i < parameters_[p].numel(); ++i) {
        const float g = gradient[i] + decay * w[i];
        m[i] += rest1 * (g - m[i]);
        v[i] = beta2 * v[i] + rest2 * g * g;
        w[i] = w[i] * kept - step_size * m[i] / (std::sqrt(v[i]) / root_correction2 + epsilon);
      }
    }
  }

 private:
  std::vector<at::Tensor> parameters_;
  std::vector<at::Tensor> mean_;
  std::vector<at::Tensor> square_;
  bool decoupled_;
};

// Stochastic gradient descent with torch's momentum (no dampening, not Nesterov's).
class Sgd : public Optimizer {
 public:
  Sgd(std::vector<at::Tensor> parameters, const OptimizerOptions& options)
      : Optimizer(options),
        parameters_(std::move(parameters)),
        momentum_(options.momentum == 0 ? std::vector<at::Tensor>{}
                                        : add_state("momentum_buffer", parameters_)) {}

  void step(const std::vector<at::Tensor>& gradients) override {
    ++steps_;
    const auto rate = static_cast<float>(options_.learning_rate);
    const auto decay = static_cast<float>(options_.weight_decay);
    const auto momentum = static_cast<float>(options_.momentum);
    for (size_t p = 0; p < parameters_.size(); ++p) {
      float* const w = parameters_[p].data_ptr<float>();
      float* const b = momentum_.empty() ? nullptr : momentum_[p].data_ptr<float>();
      const float* const gradient = gradients[p].const_data_ptr<float>();
      for (int64_t i = 0; i < parameters_[p].numel(); ++i) {
        float g = gradient[i] + decay * w[i];
        // The buffer begins as 0: the first step is the gradient's, as torch has it.
        if (b != nullptr) g = b[i] = momentum * b[i] + g;
        w[i] -= rate * g;
      }
    }
  }

 private:
  std::vector<at::Tensor> parameters_;
  std::vector<at::Tensor> momentum_;
};

// Of up to kNormChunk elements, in double and in an order that vectors keep.
double sum_of_squares(const float* g, int64_t count) {
  constexpr int64_t kSums = 8;
  double sums[kSums] = {};
  int64_t i = 0;
  for (; i + kSums <= count; i += kSums)
    for (int64_t k = 0; k < kSums; ++k) sums[k] += static_cast<double>(g[i + k]) * g[i + k];
  for (; i < count; ++i) sums[i % kSums] += static_cast<double>(g[i]) * g[i];
  double sum = 0;
  for (const double part : sums) sum += part;
  return sum;
}

}  // namespace

std::vector<at::Tensor> Optimizer::add_state(const std::string& name,
                                             const std::vector<at::Tensor>& parameters) {
  const TagScope scope(Tag::optimizer);
  std::vector<at::Tensor> values;
  for (const at::Tensor& parameter : parameters) {
    values.push_back(at::zeros_like(parameter));
    state_.emplace_back(name + "." + std::to_string(values.size() - 1), values.back());
  }
  return values;
}

std::unique_ptr<Optimizer> make_optimizer(std::vector<at::Tensor> parameters,
                                          const OptimizerOptions& options) {
  if (options.kind == "adam") return std::make_unique<Adam>(std::move(parameters), options, false);
  if (options.kind == "adamw") return std::make_unique<Adam>(std::move(parameters), options, true);
  if (options.kind == "sgd") return std::make_unique<Sgd>(std::move(parameters), options);
  throw UsageError("optimizer '" + options.kind + "': expected adam, adamw or sgd");
}

double clip_gradients(const std::vector<at::Tensor>& gradients, double longest) {
  double squares = 0;
  for (const at::Tensor& gradient : gradients)
    for (int64_t first = 0; first < gradient.numel(); first += kNormChunk)
      squares += sum_of_squares(gradient.const_data_ptr<float>() + first,
                                std::min(kNormChunk, gradient.numel() - first));
  const double norm = std::sqrt(squares);
  if (longest == 0 || norm <= longest) return norm;
  const auto scale = static_cast<float>(longest / (norm + 1e-6));
  for (const at::Tensor& gradient : gradients) {
    float* const g = gradient.data_ptr<float>();
    for (int64_t i = 0; i < gradient.numel(); ++i) g[i] *= scale;
  }
  return norm;
}

}  // namespace plimsoll
