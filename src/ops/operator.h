#pragma once

// Functions shared by the files that register functions of tensors as operators of torch.

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "ops/numbers.h"

namespace plimsoll {

using Optional = std::optional<at::Tensor>;

/// Converts a tensor that may be undefined to an optional one.
inline Optional maybe(const at::Tensor& tensor) {
  return tensor.defined() ? Optional(tensor) : std::nullopt;
}
/// Converts an optional tensor to one that may be undefined.
inline at::Tensor kept(const Optional& tensor) {
  return tensor.value_or(at::Tensor());
}
/// Does the same, and makes the tensor contiguous.
inline at::Tensor plain(const Optional& tensor) {
  return tensor ? tensor->contiguous() : at::Tensor();
}
/// Replaces an undefined tensor with one without elements, because operators return no undefined tensors.
inline at::Tensor or_empty(const at::Tensor& tensor, const at::Tensor& like) {
  return tensor.defined() ? tensor : at::empty({0}, like.options());
}

template <typename Signature>
c10::TypedOperatorHandle<Signature> find_operator(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

/// Returns whether the gradient of a saved input is needed. Torch's indices skip inputs that are undefined.
inline bool needs(torch::autograd::AutogradContext* context, const torch::autograd::variable_list& saved,
                  size_t input) {
  const auto given = std::count_if(saved.begin(), saved.begin() + static_cast<std::ptrdiff_t>(input),
                                   [](const at::Tensor& tensor) { return tensor.defined(); });
  return saved[input].defined() && context->needs_input_grad(static_cast<size_t>(given));
}

/// Passes gradients on, and throws UsageError when they are differentiated.
class NoSecondDerivative : public torch::autograd::Function<NoSecondDerivative> {
 public:
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext*,
                                                const torch::autograd::variable_list& gradients,
                                                const at::Tensor&) {
    return gradients;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext*,
                                                 const torch::autograd::variable_list&) {
    throw UsageError(
        "Plimsoll's operators have no second derivatives; use PyTorch Geometric's layers where they are "
        "needed");
  }
};

/// Makes second derivatives, of these gradients with respect to the `inputs` on which they depend, fail with
/// a clear message.
template <typename Gradients>
void refuse_second_derivatives(Gradients& gradients, const torch::autograd::variable_list& inputs) {
  const auto differentiable = [](const at::Tensor& input) {
    return input.defined() && input.requires_grad();
  };
  if (!at::GradMode::is_enabled() || std::none_of(inputs.begin(), inputs.end(), differentiable)) return;
  std::apply(
      [&](auto&... tensors) {
        const at::Tensor input = *std::find_if(inputs.begin(), inputs.end(), differentiable);
        const torch::autograd::variable_list list = {tensors...};
        const auto refusing = NoSecondDerivative::apply(list, input);
        size_t next = 0;
        ((tensors = refusing[next++]), ...);
      },
      gradients);
}

}  // namespace plimsoll
