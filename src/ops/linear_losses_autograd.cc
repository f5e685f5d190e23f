#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "ops/autocast.h"
#include "ops/linear_losses.h"
#include "ops/operator.h"
#include "ops/without_data.h"

// The operators of linear_losses.h and their gradients; gat_autograd.cc says how they go together.

namespace plimsoll {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Tensor = at::Tensor;
using Three = std::tuple<Tensor, Tensor, Tensor>;

bool planning() {
  return WithoutDataScope::order() != nullptr;
}

// One operator: its name, what it computes, and the tensors that say which classes are right.
struct CrossEntropy {
  static constexpr const char* kName = "plimsoll::linear_cross_entropy";
  static constexpr const char* kBackward = "plimsoll::linear_cross_entropy_backward";
  static constexpr auto kForwardCpu = &linear_cross_entropy_cpu;
  static constexpr auto kBackwardCpu = &linear_cross_entropy_backward_cpu;
};
struct MultilabelBce {
  static constexpr const char* kName = "plimsoll::linear_multilabel_bce";
  static constexpr const char* kBackward = "plimsoll::linear_multilabel_bce_backward";
  static constexpr auto kForwardCpu = &linear_multilabel_bce_cpu;
  static constexpr auto kBackwardCpu = &linear_multilabel_bce_backward_cpu;
};

template <typename Op, typename... Classes>
struct Registered {
  static Tensor meta(const Tensor& x, const Tensor& weight, const Tensor& bias, const Classes&... classes) {
    if (planning()) return Op::kForwardCpu(x, weight, bias, classes...);
    return at::empty_symint({x.sym_size(0)}, x.options());
  }
  static Three backward_meta(const Tensor& grad, const Tensor& x, const Tensor& weight, const Tensor& bias,
                             const Classes&... classes) {
    if (planning()) return Op::kBackwardCpu(grad, x, weight, bias, classes...);
    const auto like = [](const Tensor& of) { return at::empty_symint(of.sym_sizes(), of.options()); };
    return {like(x), like(weight), like(bias)};
  }

  class Function : public torch::autograd::Function<Function> {
   public:
    static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& weight, const Tensor& bias,
                          const Classes&... classes) {
      const at::AutoDispatchBelowADInplaceOrView guard;
      context->save_for_backward({x, weight, bias, classes...});
      return call(x, weight, bias, classes...);
    }
    static variable_list backward(AutogradContext* context, variable_list grads) {
      const variable_list v = context->get_saved_variables();
      return [&]<size_t... I>(std::index_sequence<I...>)->variable_list {
        static const auto op = find_operator<Three(const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                                                   const Classes&...)>(Op::kBackward);
        auto [dx, dweight, dbias] = op.call(grads[0], v[0], v[1], v[2], v[3 + I]...);
        return {dx, dweight, dbias, (static_cast<void>(I), Tensor())...};
      }
      (std::index_sequence_for<Classes...>());
    }
  };

  static Tensor call(const Tensor& x, const Tensor& weight, const Tensor& bias, const Classes&... classes) {
    static const auto op =
        find_operator<Tensor(const Tensor&, const Tensor&, const Tensor&, const Classes&...)>(Op::kName);
    return op.call(x, weight, bias, classes...);
  }
  static Tensor autograd(const Tensor& x, const Tensor& weight, const Tensor& bias,
                         const Classes&... classes) {
    return Function::apply(x, weight, bias, classes...);
  }
  static Three backward_autograd(const Tensor& grad, const Tensor& x, const Tensor& weight,
                                 const Tensor& bias, const Classes&... classes) {
    Three made = [&] {
      const at::AutoDispatchBelowADInplaceOrView guard;
      return find_operator<Three(const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                                 const Classes&...)>(Op::kBackward)
          .call(grad, x, weight, bias, classes...);
    }();
    refuse_second_derivatives(made, {grad, x, weight, bias});
    return made;
  }
  // Under autocast torch computes losses in float32.
  static Tensor autocast(const Tensor& x, const Tensor& weight, const Tensor& bias,
                         const Classes&... classes) {
    const Autocast cast(c10::DeviceType::CPU);
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
      "linear_cross_entropy_backward(Tensor grad, Tensor x, Tensor weight, Tensor bias, Tensor target) -> "
      "(Tensor x, Tensor weight, Tensor bias)");
  m.def("linear_multilabel_bce(Tensor x, Tensor weight, Tensor bias, Tensor ptr, Tensor classes) -> Tensor");
  m.def(
      "linear_multilabel_bce_backward(Tensor grad, Tensor x, Tensor weight, Tensor bias, Tensor ptr, Tensor "
      "classes) -> (Tensor x, Tensor weight, Tensor bias)");
}
TORCH_LIBRARY_IMPL(plimsoll, CPU, m) {
  m.impl("linear_cross_entropy", linear_cross_entropy_cpu);
  m.impl("linear_cross_entropy_backward", linear_cross_entropy_backward_cpu);
  m.impl("linear_multilabel_bce", linear_multilabel_bce_cpu);
  m.impl("linear_multilabel_bce_backward", linear_multilabel_bce_backward_cpu);
}
TORCH_LIBRARY_IMPL(plimsoll, Meta, m) {
  m.impl("linear_cross_entropy", CrossEntropyOperator::meta);
  m.impl("linear_cross_entropy_backward", CrossEntropyOperator::backward_meta);
  m.impl("linear_multilabel_bce", MultilabelBceOperator::meta);
  m.impl("linear_multilabel_bce_backward", MultilabelBceOperator::backward_meta);
}
TORCH_LIBRARY_IMPL(plimsoll, Autograd, m) {
  m.impl("linear_cross_entropy", CrossEntropyOperator::autograd);
  m.impl("linear_cross_entropy_backward", CrossEntropyOperator::backward_autograd);
  m.impl("linear_multilabel_bce", MultilabelBceOperator::autograd);
  m.impl("linear_multilabel_bce_backward", MultilabelBceOperator::backward_autograd);
}
TORCH_LIBRARY_IMPL(plimsoll, AutocastCPU, m) {
  m.impl("linear_cross_entropy", CrossEntropyOperator::autocast);
  m.impl("linear_multilabel_bce", MultilabelBceOperator::autocast);
}

}  // namespace plimsoll
