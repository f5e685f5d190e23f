#include "ops/soft_target_losses/soft_target_losses.h"

#include <ATen/Functions.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "ops/check.h"
#include "ops/numbers.h"
#include "ops/operator.h"

namespace plimsoll {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Tensor = at::Tensor;

// Returns the natural logarithm of the sum of exp(row / t).
double log_sum(const float* row, int64_t classes, double t) {
  const double max = *std::max_element(row, row + classes);
  double sum = 0;
  for (int64_t c = 0; c < classes; ++c) sum += std::exp((row[c] - max) / t);
  return max / t + std::log(sum);
}

struct Weights {
  double temperature;
  double alpha;
};

// Returns the loss of a row, and writes its gradient to `gradient`.
double loss_of(const float* student, const float* teacher, int64_t classes, int64_t label,
               const Weights& weights, float* gradient) {
  const double t = weights.temperature;
  const double student_sum = log_sum(student, classes, t);
  const double teacher_sum = log_sum(teacher, classes, t);
  const double hard_sum = log_sum(student, classes, 1);
  double divergence = 0;
  for (int64_t c = 0; c < classes; ++c) {
    const double log_student = student[c] / t - student_sum;
    const double log_teacher = teacher[c] / t - teacher_sum;
    const double share = std::exp(log_teacher);
    divergence += share * (log_teacher - log_student);
    gradient[c] =
        static_cast<float>(weights.alpha * t * (std::exp(log_student) - share) +
                           (1 - weights.alpha) * (std::exp(student[c] - hard_sum) - (c == label ? 1 : 0)));
  }
  return weights.alpha * t * t * divergence + (1 - weights.alpha) * (hard_sum - student[label]);
}

// Computes loss_of() for all rows with torch's operators, because these run on a device. Labels must be
// valid.
void on_device(const Tensor& logits, const Tensor& teacher, const Tensor& y, const Weights& weights,
               const Tensor& losses, const Tensor& gradient) {
  const double t = weights.temperature;
  const Tensor student = logits.to(at::kDouble);
  const Tensor log_student = at::log_softmax(student / t, 1);
  const Tensor log_teacher = at::log_softmax(teacher.to(at::kDouble) / t, 1);
  const Tensor share = log_teacher.exp();
  const Tensor log_hard = at::log_softmax(student, 1);
  const Tensor label = at::one_hot(y, logits.size(1));
  const Tensor divergence = (share * (log_teacher - log_student)).sum(1);
  losses.copy_(divergence * (weights.alpha * t * t) - (log_hard * label).sum(1) * (1 - weights.alpha));
  gradient.copy_((log_student.exp() - share) * (weights.alpha * t) +
                 (log_hard.exp() - label) * (1 - weights.alpha));
}

class SoftTargetLosses : public torch::autograd::Function<SoftTargetLosses> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& logits, const Tensor& teacher,
                        const Tensor& y, double temperature, double alpha) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    const int64_t classes = logits.size(1);
    Tensor losses = at::empty({logits.size(0)}, logits.options());
    const Tensor gradient = at::empty(logits.sizes(), logits.options());
    context->save_for_backward({gradient});
    if (logits.is_meta()) return losses;
    if (!logits.is_cpu()) {
      on_device(logits, teacher, y, {temperature, alpha}, losses, gradient);
      return losses;
    }
    const auto* const labels = y.const_data_ptr<int64_t>();
    for (int64_t g = 0; g < logits.size(0); ++g) {
      if (labels[g] < 0 || labels[g] >= classes)
        throw InputError(fmt::format("found the label {}, expected one of {} classes", labels[g], classes));
      write<float>(losses)[g] = static_cast<float>(
          loss_of(read<float>(logits) + g * classes, read<float>(teacher) + g * classes, classes, labels[g],
                  {temperature, alpha}, write<float>(gradient) + g * classes));
    }
    return losses;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const Tensor gradient = context->get_saved_variables()[0];
    auto made = std::make_tuple([&] {
      const at::AutoDispatchBelowADInplaceOrView guard;
      return at::mul(gradient, grads[0].unsqueeze(1));
    }());
    refuse_second_derivatives(made, {grads[0]});
    variable_list all(5);
    all[0] = std::get<0>(made);
    return all;
  }
};

}  // namespace

Tensor soft_target_losses(const Tensor& logits, const Tensor& teacher, const Tensor& y, double temperature,
                          double alpha) {
  require(logits.dim() == 2 && logits.scalar_type() == at::kFloat && logits.is_contiguous(),
          "logits f32 [G, classes]", logits);
  require_like(logits, teacher, logits.sizes(), "teacher f32 [G, classes]");
  require(y.scalar_type() == at::kLong && y.sizes() == at::IntArrayRef{logits.size(0)} && y.is_contiguous(),
          "y i64 [G]", y);
  return SoftTargetLosses::apply(logits, teacher, y, temperature, alpha);
}

}  // namespace plimsoll
