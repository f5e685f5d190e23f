#include <ATen/ops/mul.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "memory/slab.h"
#include "ops/autocast.h"
#include "ops/device_bytes.h"
#include "ops/linear_losses/linear_losses.h"
#include "ops/meta_tensors.h"
#include "ops/operator.h"

// The operators of linear_losses.h and their gradients; gat_autograd.cc shows how they are connected.

namespace plimsoll {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Tensor = at::Tensor;
using Three = std::tuple<Tensor, Tensor, Tensor>;

// Returns whether the gradients of all losses are the same number.
bool is_uniform(const Tensor& grad) {
  if (!grad.is_cpu())
    return grad.size(0) > 0 && (grad.stride(0) == 0 || grad.eq(grad.select(0, 0)).all().item<bool>());
  const auto equal = [&](const auto* g) {
    for (int64_t r = 1; r < grad.size(0); ++r)
      if (g[r * grad.stride(0)] != g[0]) return false;
    return grad.size(0) > 0;
  };
  return grad.scalar_type() == at::kFloat ? equal(grad.const_data_ptr<float>())
                                          : equal(grad.const_data_ptr<double>());
}

// One operator: its name, its functions, and the tensors that contain the target classes.
struct CrossEntropy {
  static constexpr const char* kName = "plimsoll::linear_cross_entropy";
  static constexpr const char* kBackward = "plimsoll::linear_cross_entropy_backward";
  static constexpr auto kForwardCpu = &linear_cross_entropy_cpu;
  static constexpr auto kBackwardCpu = &linear_cross_entropy_backward_cpu;
  static constexpr auto kBackwardOnDevice = &linear_cross_entropy_backward_on_device;
  static constexpr const char* kBoth = "plimsoll::linear_cross_entropy_both";
  static constexpr auto kBothCpu = &linear_cross_entropy_both_cpu;
};
struct MultilabelBce {
  static constexpr const char* kName = "plimsoll::linear_multilabel_bce";
  static constexpr const char* kBackward = "plimsoll::linear_multilabel_bce_backward";
  static constexpr auto kForwardCpu = &linear_multilabel_bce_cpu;
  static constexpr auto kBackwardCpu = &linear_multilabel_bce_backward_cpu;
  static constexpr auto kBackwardOnDevice = &linear_multilabel_bce_backward_on_device;
  static constexpr const char* kBoth = "plimsoll::linear_multilabel_bce_both";
  static constexpr auto kBothCpu = &linear_multilabel_bce_both_cpu;
};

template <typename Op, typename... Classes>
struct Registered {
  static Tensor meta(const Tensor& x, const Tensor& weight, const Tensor& bias, const Classes&... classes) {
    if (MetaTensors::active() && !MetaTensors::on_cuda()) return Op::kForwardCpu(x, weight, bias, classes...);
    Tensor losses = at::empty_symint({x.sym_size(0)}, x.options());
    if (MetaTensors::on_cuda()) ask_for_tile(x, weight);
    return losses;
  }
  static LossesAndGradients both_meta(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                      const Classes&... classes) {
    if (MetaTensors::active() && !MetaTensors::on_cuda()) return Op::kBothCpu(x, weight, bias, classes...);
    LossesAndGradients made{at::empty_symint({x.sym_size(0)}, x.options()), like(x), like(weight),
                            like(bias)};
    if (MetaTensors::on_cuda()) ask_for_tile(x, weight);
    return made;
  }
  // If the gradients of all losses are the same number, scales the gradients of the sum of all losses.
  // Planning assumes this case.
  static Three backward_with_data(const Tensor& grad, const Tensor& x, const Tensor& weight,
                                  const Tensor& bias, const Classes&... classes, const Tensor& dx,
                                  const Tensor& dweight, const Tensor& dbias) {
    if (!x.is_meta() && !is_uniform(grad))
      return x.is_cpu() ? Op::kBackwardCpu(grad, x, weight, bias, classes...)
                        : Op::kBackwardOnDevice(grad, x, weight, bias, classes...);
    const Tensor factor = grad.narrow(0, 0, 1);
    const auto scaled = [&](const Tensor& gradient) {
      Tensor to = at::empty(gradient.sizes(), gradient.options());
      at::mul_out(to, gradient, factor);
      return to;
    };
    Tensor first = scaled(dx);
    Tensor second = scaled(dweight);
    return {first, second, scaled(dbias)};
  }
  static Three backward_meta(const Tensor& grad, const Tensor& x, const Tensor& weight, const Tensor& bias,
                             const Classes&... classes, const Tensor& dx, const Tensor& dweight,
                             const Tensor& dbias) {
    if (MetaTensors::active())
      return backward_with_data(grad, x, weight, bias, classes..., dx, dweight, dbias);
    return {like(x), like(weight), like(bias)};
  }
  static void ask_for_tile(const Tensor& x, const Tensor& weight) {
    const WorkspaceScope workspace;
    ask_for_workspace(x, linear_losses_device_workspace(weight.size(0), x.scalar_type()), 0);
  }
  static Tensor like(const Tensor& tensor) { return at::empty_symint(tensor.sym_sizes(), tensor.options()); }

  class Function : public torch::autograd::Function<Function> {
   public:
    static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& weight, const Tensor& bias,
                          const Classes&... classes) {
      const at::AutoDispatchBelowADInplaceOrView guard;
      static const auto op =
          find_operator<LossesAndGradients(const Tensor&, const Tensor&, const Tensor&, const Classes&...)>(
              Op::kBoth);
      auto [losses, dx, dweight, dbias] = op.call(x, weight, bias, classes...);
      context->save_for_backward({x, weight, bias, classes..., dx, dweight, dbias});
      return losses;
    }
    static variable_list backward(AutogradContext* context, variable_list grads) {
      const variable_list v = context->get_saved_variables();
      return [&]<size_t... I>(std::index_sequence<I...>)->variable_list {
        constexpr size_t kGradients = 3 + sizeof...(Classes);
        auto [dx, dweight, dbias] = call_backward(grads[0], v[0], v[1], v[2], v[3 + I]..., v[kGradients],
                                                  v[kGradients + 1], v[kGradients + 2]);
        return {dx, dweight, dbias, (static_cast<void>(I), Tensor())...};
      }
      (std::index_sequence_for<Classes...>());
    }
  };

  static Three call_backward(const Tensor& grad, const Tensor& x, const Tensor& weight, const Tensor& bias,
                             const Classes&... classes, const Tensor& dx, const Tensor& dweight,
                             const Tensor& dbias) {
    static const auto op =
        find_operator<Three(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Classes&...,
                            const Tensor&, const Tensor&, const Tensor&)>(Op::kBackward);
    return op.call(grad, x, weight, bias, classes..., dx, dweight, dbias);
  }
  static Tensor call(const Tensor& x, const Tensor& weight, const Tensor& bias, const Classes&... classes) {
    static const auto op =
        find_operator<Tensor(const Tensor&, const Tensor&, const Tensor&, const Classes&...)>(Op::kName);
    return op.call(x, weight, bias, classes...);
  }
  static Tensor autograd(const Tensor& x, const Tensor& weight, const Tensor& bias,
                         const Classes&... classes) {
    if (at::GradMode::is_enabled() && (x.requires_grad() || weight.requires_grad() || bias.requires_grad()))
      return Function::apply(x, weight, bias, classes...);
    const at::AutoDispatchBelowADInplaceOrView guard;
    return call(x, weight, bias, classes...);
  }
  static Three backward_autograd(const Tensor& grad, const Tensor& x, const Tensor& weight,
                                 const Tensor& bias, const Classes&... classes, const Tensor& dx,
                                 const Tensor& dweight, const Tensor& dbias) {
    Three made = [&] {
      const at::AutoDispatchBelowADInplaceOrView guard;
      return call_backward(grad, x, weight, bias, classes..., dx, dweight, dbias);
    }();
    refuse_second_derivatives(made, {grad, x, weight, bias});
    return made;
  }
  // Torch computes losses in float32 under autocast.
  template <c10::DeviceType kDevice>
  static Tensor autocast(const Tensor& x, const Tensor& weight, const Tensor& bias,
                         const Classes&... classes) {
    const Autocast cast(kDevice);
    return call(cast.full(x), cast.full(weight), cast.full(bias), classes...);
  }
};

using CrossEntropyOperator = Registered<CrossEntropy, Tensor>;
using MultilabelBceOperator = Registered<MultilabelBce, Tensor, Tensor>;

}  // namespace

Tensor linear_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& target) {
  return CrossEntropyOperator::call(x, weight, bias, target);
}

Tensor linear_multilabel_bce(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& ptr,
                             const Tensor& classes) {
  return MultilabelBceOperator::call(x, weight, bias, ptr, classes);
}

TORCH_LIBRARY_FRAGMENT(plimsoll, m) {
  m.def("linear_cross_entropy(Tensor x, Tensor weight, Tensor bias, Tensor target) -> Tensor");
  m.def(
      "linear_cross_entropy_both(Tensor x, Tensor weight, Tensor bias, Tensor target) -> "
      "(Tensor losses, Tensor dx, Tensor dweight, Tensor dbias)");
  m.def(
      "linear_cross_entropy_backward(Tensor grad, Tensor x, Tensor weight, Tensor bias, Tensor target, "
      "Tensor dx, Tensor dweight, Tensor dbias) -> (Tensor, Tensor, Tensor)");
  m.def("linear_multilabel_bce(Tensor x, Tensor weight, Tensor bias, Tensor ptr, Tensor classes) -> Tensor");
  m.def(
      "linear_multilabel_bce_both(Tensor x, Tensor weight, Tensor bias, Tensor ptr, Tensor classes) -> "
      "(Tensor losses, Tensor dx, Tensor dweight, Tensor dbias)");
  m.def(
      "linear_multilabel_bce_backward(Tensor grad, Tensor x, Tensor weight, Tensor bias, Tensor ptr, "
      "Tensor classes, Tensor dx, Tensor dweight, Tensor dbias) -> (Tensor, Tensor, Tensor)");
}
TORCH_LIBRARY_IMPL(plimsoll, CPU, m) {
  m.impl("linear_cross_entropy", linear_cross_entropy_cpu);
  m.impl("linear_cross_entropy_both", linear_cross_entropy_both_cpu);
  m.impl("linear_cross_entropy_backward", CrossEntropyOperator::backward_with_data);
  m.impl("linear_multilabel_bce", linear_multilabel_bce_cpu);
  m.impl("linear_multilabel_bce_both", linear_multilabel_bce_both_cpu);
  m.impl("linear_multilabel_bce_backward", MultilabelBceOperator::backward_with_data);
}
TORCH_LIBRARY_IMPL(plimsoll, CUDA, m) {
  m.impl("linear_cross_entropy", linear_cross_entropy_on_device);
  m.impl("linear_cross_entropy_both", linear_cross_entropy_both_on_device);
  m.impl("linear_multilabel_bce", linear_multilabel_bce_on_device);
  m.impl("linear_multilabel_bce_both", linear_multilabel_bce_both_on_device);
  m.impl("linear_cross_entropy_backward", CrossEntropyOperator::backward_with_data);
  m.impl("linear_multilabel_bce_backward", MultilabelBceOperator::backward_with_data);
}
TORCH_LIBRARY_IMPL(plimsoll, Meta, m) {
  m.impl("linear_cross_entropy", CrossEntropyOperator::meta);
  m.impl("linear_cross_entropy_both", CrossEntropyOperator::both_meta);
  m.impl("linear_cross_entropy_backward", CrossEntropyOperator::backward_meta);
  m.impl("linear_multilabel_bce", MultilabelBceOperator::meta);
  m.impl("linear_multilabel_bce_both", MultilabelBceOperator::both_meta);
  m.impl("linear_multilabel_bce_backward", MultilabelBceOperator::backward_meta);
}
TORCH_LIBRARY_IMPL(plimsoll, Autograd, m) {
  m.impl("linear_cross_entropy", CrossEntropyOperator::autograd);
  m.impl("linear_cross_entropy_backward", CrossEntropyOperator::backward_autograd);
  m.impl("linear_multilabel_bce", MultilabelBceOperator::autograd);
  m.impl("linear_multilabel_bce_backward", MultilabelBceOperator::backward_autograd);
}
TORCH_LIBRARY_IMPL(plimsoll, AutocastCPU, m) {
  m.impl("linear_cross_entropy", CrossEntropyOperator::autocast<c10::DeviceType::CPU>);
  m.impl("linear_multilabel_bce", MultilabelBceOperator::autocast<c10::DeviceType::CPU>);
}
TORCH_LIBRARY_IMPL(plimsoll, AutocastCUDA, m) {
  m.impl("linear_cross_entropy", CrossEntropyOperator::autocast<c10::DeviceType::CUDA>);
  m.impl("linear_multilabel_bce", MultilabelBceOperator::autocast<c10::DeviceType::CUDA>);
}

}  // namespace plimsoll
