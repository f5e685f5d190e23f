#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <algorithm>
#include <vector>

#include "memory/slab.h"
#include "ops/check.h"
#include "ops/operator.h"
#include "ops/packed_weight.h"

// Computes out = relu(x) weight^T + bias. x is f32 or f64 [N, F], weight [O, F], bias [O] or undefined, of
// x's dtype. The result of relu is never in memory as a whole, and only the inputs are kept for backward.
// Differentiable once. The bits are the same for any number of threads. Errors: UsageError for shapes and
// dtypes.

namespace plimsoll {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Tensor = at::Tensor;
using ReluLinearGradients = std::tuple<Tensor, Tensor, Tensor>;  // Gradients of x, weight and bias.

void check_relu_linear(const Tensor& x, const Tensor& weight, const Optional& bias) {
  require(x.dim() == 2 && (x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble),
          "x f32 or f64 [N, F]", x);
  require(weight.dim() == 2, "weight [O, F]", weight);
  require_like(x, weight, {weight.size(0), x.size(1)}, "weight [O, F] of x's dtype");
  if (bias) require_like(x, *bias, {weight.size(0)}, "bias [O] of x's dtype");
}

// NaN is kept, as in torch.
template <typename T>
void relu_rows(const T* x, int64_t count, T* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = x[i] <= 0 ? T(0) : x[i];
}

template <typename T>
void relu_linear_rows(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& out) {
  const int64_t in = x.size(1);
  const auto packed = PackedWeight<T>::pack(weight, false);
  const int64_t parts = (x.size(0) + kRowsAtOnce - 1) / kRowsAtOnce;
  at::parallel_for(0, parts, 1, [&](int64_t first, int64_t last) {
    const Tensor buffer = at::empty({kRowsAtOnce, in}, x.options());
    over_rows(first * kRowsAtOnce, std::min(last * kRowsAtOnce, x.size(0)), [&](int64_t begin, int64_t end) {
      relu_rows(read<T>(x) + begin * in, (end - begin) * in, write<T>(buffer));
      packed.multiply(read<T>(buffer), end - begin, read<T>(bias), write<T>(out) + begin * out.size(1));
    });
  });
}

template <typename T>
void relu_linear_gradients(const Tensor& grad, const Tensor& x, const Tensor& weight,
                           const ReluLinearGradients& to) {
  const int64_t in = x.size(1);
  const int64_t out = grad.size(1);
  const ProductKernels<T>& kernels = product_kernels<T>(kernel_level());
  const auto packed = PackedWeight<T>::pack(weight, true);
  const auto& [dx, dweight, dbias] = to;
  const auto rows = [&, &to_x = dx](int64_t first, int64_t last, const std::vector<Tensor>& sums) {
    const Tensor buffer = at::empty({kRowsAtOnce, in}, x.options());
    const Tensor panel = at::empty({kRowsAtOnce * kernels.panel}, x.options());
    over_rows(first, last, [&](int64_t begin, int64_t end) {
      const T* const from = read<T>(x) + begin * in;
      const T* const dout = read<T>(grad) + begin * out;
      relu_rows(from, (end - begin) * in, write<T>(buffer));
      kernels.add_transposed({dout, out}, out, read<T>(buffer), in, end - begin, write<T>(panel),
                             write<T>(sums[0]));
      if (sums[1].numel() > 0) add_rows(dout, end - begin, out, write<T>(sums[1]));
      T* const di = write<T>(to_x) + begin * in;
      packed.multiply(dout, end - begin, nullptr, di);
      for (int64_t i = 0; i < (end - begin) * in; ++i) di[i] = from[i] <= 0 ? T(0) : di[i];
    });
  };
  sum_over_groups(x.size(0), {dweight, dbias}, rows);
}

Tensor relu_linear_cpu(const Tensor& input, const Tensor& weight, const Optional& bias) {
  check_relu_linear(input, weight, bias);
  const Tensor out = at::empty({input.size(0), weight.size(0)}, input.options());
  if (out.numel() == 0) return out;
  const WorkspaceScope workspace;
  const Tensor x = input.contiguous();
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "relu_linear",
                             [&] { relu_linear_rows<scalar_t>(x, weight, kept(bias), out); });
  return out;
}

ReluLinearGradients relu_linear_backward_meta(const Tensor&, const Tensor& x, const Tensor& weight,
                                              bool bias) {
  return {at::empty_symint(x.sym_sizes(), x.options()), at::empty_symint(weight.sym_sizes(), x.options()),
          bias ? at::empty_symint({weight.sym_size(0)}, x.options()) : at::empty({0}, x.options())};
}

ReluLinearGradients relu_linear_backward_cpu(const Tensor& grad, const Tensor& input, const Tensor& weight,
                                             bool bias) {
  check_relu_linear(input, weight, std::nullopt);
  require(grad.scalar_type() == input.scalar_type() &&
              grad.sizes() == at::IntArrayRef{input.size(0), weight.size(0)},
          "the gradient [N, O] of x's dtype", grad);
  const ReluLinearGradients all = relu_linear_backward_meta(grad, input, weight, bias);
  const WorkspaceScope workspace;
  const Tensor dout = grad.contiguous();
  const Tensor x = input.contiguous();
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "relu_linear_backward",
                             [&] { relu_linear_gradients<scalar_t>(dout, x, weight, all); });
  return all;
}

Tensor relu_linear_meta(const Tensor& x, const Tensor& weight, const Optional&) {
  return at::empty_symint({x.sym_size(0), weight.sym_size(0)}, x.options());
}

class ReluLinearFunction : public torch::autograd::Function<ReluLinearFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& weight,
                        const Optional& bias) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    static const auto op = find_operator<decltype(relu_linear_cpu)>("plimsoll::relu_linear");
    context->save_for_backward({x, weight});
    context->saved_data["bias"] = bias.has_value();
    return op.call(x, weight, bias);
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    const variable_list v = context->get_saved_variables();
    static const auto op =
        find_operator<decltype(relu_linear_backward_cpu)>("plimsoll::relu_linear_backward");
    const bool bias = context->saved_data["bias"].toBool();
    auto [dx, dweight, dbias] = op.call(grads[0], v[0], v[1], bias);
    return {dx, dweight, bias ? dbias : Tensor()};
  }
};

Tensor relu_linear_autograd(const Tensor& x, const Tensor& weight, const Optional& bias) {
  return ReluLinearFunction::apply(x, weight, bias);
}

ReluLinearGradients relu_linear_backward_autograd(const Tensor& grad, const Tensor& x, const Tensor& weight,
                                                  bool bias) {
  ReluLinearGradients all = [&] {
    const at::AutoDispatchBelowADInplaceOrView guard;
    static const auto op =
        find_operator<decltype(relu_linear_backward_cpu)>("plimsoll::relu_linear_backward");
    return op.call(grad, x, weight, bias);
  }();
  refuse_second_derivatives(all, {grad, x, weight});
  return all;
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(plimsoll, m) {
  m.def("relu_linear(Tensor x, Tensor weight, Tensor? bias=None) -> Tensor");
  m.def("relu_linear_backward(Tensor grad, Tensor x, Tensor weight, bool bias) -> (Tensor, Tensor, Tensor)");
}
TORCH_LIBRARY_IMPL(plimsoll, CPU, m) {
  m.impl("relu_linear", relu_linear_cpu);
  m.impl("relu_linear_backward", relu_linear_backward_cpu);
}
TORCH_LIBRARY_IMPL(plimsoll, Meta, m) {
  m.impl("relu_linear", relu_linear_meta);
  m.impl("relu_linear_backward", relu_linear_backward_meta);
}
TORCH_LIBRARY_IMPL(plimsoll, Autograd, m) {
  m.impl("relu_linear", relu_linear_autograd);
  m.impl("relu_linear_backward", relu_linear_backward_autograd);
}

}  // namespace plimsoll
