#include "nn/recompute.h"

#include <ATen/ops/alias.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/custom_class.h>

#include <optional>

#include "base/error.h"
#include "ops/autocast_scope.h"

namespace plimsoll {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// The state, other than tensors, that a node of the gradient graph keeps.
struct KeptLayer : torch::CustomClassHolder {
  KeptLayer(Layer of, c10::DeviceType on, at::TensorList leaves)
      : layer(std::move(of)), parameters(leaves.vec()), products(AutocastScope::dtype(on)) {}
  at::Tensor run(const at::Tensor& x) const {
    std::optional<AutocastScope> scope;
    if (products) scope.emplace(x.device().type(), *products);
    return layer(x);
  }
  Layer layer;
  variable_list parameters;
  std::optional<at::ScalarType> products;  // The dtype of products under torch.autocast when the layer ran.
};

// A node after a layer's output y, at which the layer's backward begins. If y and its gradient were passed to
// torch::autograd::grad, both would be held until that function returns. This node passes the gradient on
// instead, so that y can be freed.
class BeginBackward : public torch::autograd::Function<BeginBackward> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& y, at::Tensor* gradient) {
    context->saved_data["gradient"] = std::move(*gradient);
    return at::zeros({}, y.options());
  }
  static variable_list backward(AutogradContext* context, const variable_list&) {
    at::Tensor gradient = context->saved_data["gradient"].toTensor();
    context->saved_data.clear();
    return {std::move(gradient), at::Tensor()};
  }
};

// Keeps only x of all the tensors that forward uses. The parameters are arguments so that torch requests
// their gradients.
class Recomputed : public torch::autograd::Function<Recomputed> {
 public:
  static at::Tensor forward(AutogradContext* context, const Layer& layer, const at::Tensor& x,
                            at::TensorList parameters) {
    context->save_for_backward({x});
    context->saved_data["layer"] =
        c10::IValue::make_capsule(c10::make_intrusive<KeptLayer>(layer, x.device().type(), parameters));
    return layer(x);
  }

  static variable_list backward(AutogradContext* context, variable_list& gradients) {
    if (c10::GradMode::is_enabled())
      throw UsageError(
          "layers that are recomputed have no second derivatives; set training.gradient_checkpointing: off");
    const auto capsule = context->saved_data["layer"].toCapsule();
    const auto& kept = static_cast<const KeptLayer&>(*capsule);
    const at::Tensor x =
        context->get_saved_variables()[0].detach().set_requires_grad(context->needs_input_grad(0));
    variable_list inputs = kept.parameters;
    if (x.requires_grad()) inputs.insert(inputs.begin(), x);

    const c10::AutoGradMode with_gradients(true);
    const at::Tensor begin = BeginBackward::apply(kept.run(x), &gradients[0]);
    variable_list made = torch::autograd::grad({begin}, inputs, {}, /*retain_graph=*/std::nullopt,
                                               /*create_graph=*/false, /*allow_unused=*/true);
    if (!x.requires_grad()) made.insert(made.begin(), at::Tensor());
    made.insert(made.begin(), at::Tensor());  // The layer itself has no gradient.
    return made;
  }
};

}  // namespace

at::Tensor run_layer(const Layer& layer, const at::Tensor& x, const std::vector<at::Tensor>& parameters,
                     bool recompute) {
  if (recompute && c10::GradMode::is_enabled())
    return Recomputed::apply(layer, x, at::TensorList(parameters));
  // With an alias, the gradients from the layer's own uses of x are summed before those from other layers are
  // added. A recomputed layer sums in the same order.
  return layer(at::alias(x));
}

}  // namespace plimsoll
