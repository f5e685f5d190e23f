#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "kernels/aggregate/aggregate.h"
#include "memory/slab.h"
#include "ops/attention/attention_layer.h"
#include "ops/check.h"
#include "ops/numbers.h"
#include "ops/operator.h"
#include "ops/packed_weight.h"
#include "ops/products.h"

// A sum over the incoming edges of each node, followed by a linear layer, as one operator. GraphSAGE and the
// first layer of GIN's network have this form:
//
//     h_i = target_scale_i * sum of x_j over the edges from j to i, and self_scale * x_i
//     out_i = weight h_i + root x_i + bias
//
// x is f32 or f64 [N, F], `order` has N sources and N targets (ops/attention/attention.h), weight and root
// are [O, F], bias [O], target_scale [N], self_scale [1], all of x's dtype. All except x, order and weight
// may be undefined; root and self_scale exclude each other. The result is [N, O]. h is never in memory as a
// whole, and only the inputs are kept for backward: with g = A^T dout, the gradients are g W + dout root, g^T
// x, dout^T x and the sum of dout's rows. Differentiable once, but not by scales. The bits are the same for
// any number of threads. Errors: UsageError for shapes and dtypes; InputError for an order of other counts.

namespace plimsoll {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Tensor = at::Tensor;

struct LinearSizes {
  int64_t nodes, in, out;
};

LinearSizes check_linear(const Tensor& x, const Tensor& weight, const Optional& root, const Optional& bias,
                         const Optional& target_scale, const Optional& self_scale) {
  require(x.dim() == 2 && (x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble),
          "x f32 or f64 [N, F]", x);
  require(weight.dim() == 2, "weight [O, F]", weight);
  const LinearSizes sizes{x.size(0), x.size(1), weight.size(0)};
  require_like(x, weight, {sizes.out, sizes.in}, "weight [O, F] of x's dtype");
  if (root) require_like(x, *root, {sizes.out, sizes.in}, "root [O, F] of x's dtype");
  if (bias) require_like(x, *bias, {sizes.out}, "bias [O] of x's dtype");
  if (target_scale) require_like(x, *target_scale, {sizes.nodes}, "target_scale [N] of x's dtype");
  if (self_scale) require_like(x, *self_scale, {1}, "self_scale [1] of x's dtype");
  if (root && self_scale)
    throw UsageError("aggregate_linear: found root and self_scale, expected at most one of them");
  return sizes;
}

EdgeOrder nodes_order(const Tensor& order, int64_t nodes) {
  require(order.dim() == 1 && order.scalar_type() == at::kInt && order.is_contiguous(), "order i32", order);
  return view_edge_order(order.const_data_ptr<int32_t>(), order.numel(), nodes, nodes,
                         std::max<int64_t>(edges_of_order(order.numel(), nodes), 0));
}

template <typename T>
AggregateInput<T> linear_sums(const Tensor& x, const EdgeOrder& edges, const Tensor& target_scale) {
  return {.x = read<T>(x),
          .ptr = edges.in_ptr,
          .index = edges.source,
          .edge = edges.edge,
          .row_scale = read<T>(target_scale),
          .features = x.size(1)};
}

template <typename T>
void add_self(AggregateInput<T>& sums, const Tensor& self_scale) {
  if (!self_scale.defined()) return;
  sums.base = sums.x;
  sums.base_scale = *read<T>(self_scale);
}

// Computes A (x W^T): the product comes first if it is narrower than x, because then the sums are cheaper.
template <typename T>
void product_first(const Tensor& x, const EdgeOrder& edges, const Tensor& weight, const Tensor& root,
                   const Tensor& bias, const Tensor& target_scale, const Tensor& self_scale,
                   const Tensor& out) {
  const Tensor z = at::empty(out.sizes(), out.options());
  multiply_all(x, weight.t(), {}, z);
  AggregateInput<T> sums = linear_sums<T>(z, edges, target_scale);
  if (root.defined()) {
    multiply_all(x, root.t(), bias, out);
    sums.base = read<T>(out);
  } else {
    sums.bias = read<T>(bias);
    add_self(sums, self_scale);
  }
  at::parallel_for(0, out.size(0), kRowsAtOnce, [&](int64_t begin, int64_t end) {
    aggregate_kernel<T>(kernel_level())(sums, begin, end, write<T>(out));
  });
}

template <typename T>
void sums_first(const Tensor& x, const EdgeOrder& edges, const Tensor& weight, const Tensor& root,
                const Tensor& bias, const Tensor& target_scale, const Tensor& self_scale, const Tensor& out) {
  AggregateInput<T> sums = linear_sums<T>(x, edges, target_scale);
  add_self(sums, self_scale);
  const int64_t in = x.size(1);
  const auto packed_weight = PackedWeight<T>::pack(weight, false);
  const auto packed_root = root.defined() ? PackedWeight<T>::pack(root, false) : PackedWeight<T>{};
  const int64_t parts = (out.size(0) + kRowsAtOnce - 1) / kRowsAtOnce;
  at::parallel_for(0, parts, 1, [&](int64_t first, int64_t last) {
    const Tensor buffer = at::empty({kRowsAtOnce, in}, x.options());
    T* const h = write<T>(buffer);
    over_rows(first * kRowsAtOnce, std::min(last * kRowsAtOnce, out.size(0)),
              [&](int64_t begin, int64_t end) {
                aggregate_kernel<T>(kernel_level())(sums, begin, end, h - begin * in);
                T* const y = write<T>(out) + begin * out.size(1);
                packed_weight.multiply(h, end - begin, read<T>(bias), y);
                if (root.defined())
                  packed_root.multiply(read<T>(x) + begin * in, end - begin, nullptr, y, /*add=*/true);
              });
  });
}

Tensor aggregate_linear_cpu(const Tensor& input, const Tensor& order, const Tensor& weight,
                            const Optional& root, const Optional& bias, const Optional& target_scale,
                            const Optional& self_scale) {
  const LinearSizes sizes = check_linear(input, weight, root, bias, target_scale, self_scale);
  const EdgeOrder edges = nodes_order(order, sizes.nodes);
  const Tensor out = at::empty({sizes.nodes, sizes.out}, input.options());
  if (out.numel() == 0) return out;
  const WorkspaceScope workspace;
  const Tensor x = input.contiguous();
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "aggregate_linear", [&] {
    (sizes.out < sizes.in ? product_first<scalar_t> : sums_first<scalar_t>)(x, edges, weight, kept(root),
                                                                            kept(bias), kept(target_scale),
                                                                            kept(self_scale), out);
  });
  return out;
}

using LinearGradients = std::tuple<Tensor, Tensor, Tensor, Tensor>;  // Gradients of x, weight, root and bias.

template <typename T>
class AggregateLinearBackward {
 public:
  AggregateLinearBackward(const Tensor& grad, const Tensor& x, const EdgeOrder& edges,
                          const Tensor& target_scale, const Tensor& self_scale)
      : grad_(grad), x_(x), forward_(linear_sums<T>(x, edges, target_scale)) {
    add_self(forward_, self_scale);
    const OutEdges out_edge = out_edges(edges, transposed_);
    backward_ = {.x = read<T>(grad),
                 .ptr = out_edge.ptr,
                 .index = out_edge.target,
                 .entry_scale = read<T>(target_scale),
                 .features = grad.size(1)};
    add_self(backward_, self_scale);
  }

  void run(const Tensor& weight, const Tensor& root, const LinearGradients& to) {
    const bool needs_x = std::get<0>(to).numel() > 0;
    // If the gradient of x is not needed and x is narrower, the sums of x are recomputed.
    again_ = !needs_x && x_.size(1) < grad_.size(1);
    if (needs_x) packed_weight_ = PackedWeight<T>::pack(weight, true);
    if (needs_x && root.defined()) packed_root_ = PackedWeight<T>::pack(root, true);
    sum_over_groups(x_.size(0), {std::get<1>(to), std::get<2>(to), std::get<3>(to)},
                    [&](int64_t begin, int64_t end, const std::vector<Tensor>& sums) {
                      rows(begin, end, std::get<0>(to), sums);
                    });
  }

 private:
  void rows(int64_t first, int64_t last, const Tensor& dx, const std::vector<Tensor>& sums) const {
    const int64_t in = x_.size(1);
    const int64_t out = grad_.size(1);
    const int64_t width = again_ ? in : out;
    const ProductKernels<T>& kernels = product_kernels<T>(kernel_level());
    const Tensor buffer = at::empty({kRowsAtOnce, width}, x_.options());
    const Tensor panel = at::empty({kRowsAtOnce * kernels.panel}, x_.options());
    const auto add_product = [&](const T* dout, const T* x, int64_t count, const Tensor& sum) {
      if (sum.numel() > 0)
        kernels.add_transposed({dout, out}, out, x, in, count, write<T>(panel), write<T>(sum));
    };
    over_rows(first, last, [&](int64_t begin, int64_t end) {
      T* const summed = write<T>(buffer);
      const T* const x = read<T>(x_) + begin * in;
      const T* const dout = read<T>(grad_) + begin * out;
      aggregate_kernel<T>(kernel_level())(again_ ? forward_ : backward_, begin, end, summed - begin * width);
      add_product(again_ ? dout : summed, again_ ? summed : x, end - begin, sums[0]);
      add_product(dout, x, end - begin, sums[1]);
      if (sums[2].numel() > 0) add_rows(dout, end - begin, out, write<T>(sums[2]));
      if (dx.numel() == 0) return;
      packed_weight_.multiply(summed, end - begin, nullptr, write<T>(dx) + begin * in);
      if (packed_root_.buffer.defined())
        packed_root_.multiply(dout, end - begin, nullptr, write<T>(dx) + begin * in, /*add=*/true);
    });
  }

  const Tensor& grad_;
  const Tensor& x_;
  AggregateInput<T> forward_;
  AggregateInput<T> backward_;
  Tensor transposed_;
  bool again_ = false;
  PackedWeight<T> packed_weight_;
  PackedWeight<T> packed_root_;
};

LinearGradients empty_gradients(const Tensor& x, const Tensor& weight, const Optional& root, bool needs_x,
                                bool bias) {
  const auto gradient = [&](c10::SymIntArrayRef shape, bool needed) {
    return needed ? at::empty_symint(shape, x.options()) : at::empty({0}, x.options());
  };
  return {gradient(x.sym_sizes(), needs_x), gradient(weight.sym_sizes(), true),
          gradient(weight.sym_sizes(), root.has_value()), gradient({weight.sym_size(0)}, bias)};
}

LinearGradients aggregate_linear_backward_cpu(const Tensor& grad, const Tensor& input, const Tensor& order,
                                              const Tensor& weight, const Optional& root,
                                              const Optional& target_scale, const Optional& self_scale,
                                              bool needs_x, bool bias) {
  const LinearSizes sizes = check_linear(input, weight, root, std::nullopt, target_scale, self_scale);
  require(
      grad.scalar_type() == input.scalar_type() && grad.sizes() == at::IntArrayRef{sizes.nodes, sizes.out},
      "the gradient [N, O] of x's dtype", grad);
  const EdgeOrder edges = nodes_order(order, sizes.nodes);
  const LinearGradients all = empty_gradients(input, weight, root, needs_x, bias);
  const WorkspaceScope workspace;
  const Tensor dout = grad.contiguous();
  const Tensor x = input.contiguous();
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "aggregate_linear_backward", [&] {
    AggregateLinearBackward<scalar_t>(dout, x, edges, kept(target_scale), kept(self_scale))
        .run(weight, kept(root), all);
  });
  return all;
}

Tensor aggregate_linear_meta(const Tensor& x, const Tensor&, const Tensor& weight, const Optional&,
                             const Optional&, const Optional&, const Optional&) {
  return at::empty_symint({x.sym_size(0), weight.sym_size(0)}, x.options());
}

LinearGradients aggregate_linear_backward_meta(const Tensor&, const Tensor& x, const Tensor&,
                                               const Tensor& weight, const Optional& root, const Optional&,
                                               const Optional&, bool needs_x, bool bias) {
  return empty_gradients(x, weight, root, needs_x, bias);
}

class AggregateLinearFunction : public torch::autograd::Function<AggregateLinearFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& order, const Tensor& weight,
                        const Optional& root, const Optional& bias, const Optional& target_scale,
                        const Optional& self_scale) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    static const auto op = find_operator<decltype(aggregate_linear_cpu)>("plimsoll::aggregate_linear");
    context->save_for_backward({x, order, weight, kept(root), kept(target_scale), kept(self_scale)});
    context->saved_data["bias"] = bias.has_value();
    return op.call(x, order, weight, root, bias, target_scale, self_scale);
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    const variable_list v = context->get_saved_variables();
    static const auto op =
        find_operator<decltype(aggregate_linear_backward_cpu)>("plimsoll::aggregate_linear_backward");
    const bool bias = context->saved_data["bias"].toBool();
    auto [dx, dweight, droot, dbias] = op.call(grads[0], v[0], v[1], v[2], maybe(v[3]), maybe(v[4]),
                                               maybe(v[5]), context->needs_input_grad(0), bias);
    const auto if_needed = [](const Tensor& gradient, bool needed) { return needed ? gradient : Tensor(); };
    return {if_needed(dx, context->needs_input_grad(0)),
            Tensor(),
            dweight,
            if_needed(droot, v[3].defined()),
            if_needed(dbias, bias),
            Tensor(),
            Tensor()};
  }
};

Tensor aggregate_linear_autograd(const Tensor& x, const Tensor& order, const Tensor& weight,
                                 const Optional& root, const Optional& bias, const Optional& target_scale,
                                 const Optional& self_scale) {
  for (const Optional* scale : {&target_scale, &self_scale})
    if (*scale && (*scale)->requires_grad()) throw UsageError("aggregate_linear: scales have no gradients");
  return AggregateLinearFunction::apply(x, order, weight, root, bias, target_scale, self_scale);
}

LinearGradients aggregate_linear_backward_autograd(const Tensor& grad, const Tensor& x, const Tensor& order,
                                                   const Tensor& weight, const Optional& root,
                                                   const Optional& target_scale, const Optional& self_scale,
                                                   bool needs_x, bool bias) {
  LinearGradients all = [&] {
    const at::AutoDispatchBelowADInplaceOrView guard;
    static const auto op =
        find_operator<decltype(aggregate_linear_backward_cpu)>("plimsoll::aggregate_linear_backward");
    return op.call(grad, x, order, weight, root, target_scale, self_scale, needs_x, bias);
  }();
  refuse_second_derivatives(all, {grad, x, weight});
  return all;
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(plimsoll, m) {
  m.def(
      "aggregate_linear(Tensor x, Tensor order, Tensor weight, Tensor? root=None, Tensor? bias=None, "
      "Tensor? target_scale=None, Tensor? self_scale=None) -> Tensor");
  m.def(
      "aggregate_linear_backward(Tensor grad, Tensor x, Tensor order, Tensor weight, Tensor? root, "
      "Tensor? target_scale, Tensor? self_scale, bool needs_x, bool bias) -> (Tensor, Tensor, Tensor, "
      "Tensor)");
}
TORCH_LIBRARY_IMPL(plimsoll, CPU, m) {
  m.impl("aggregate_linear", aggregate_linear_cpu);
  m.impl("aggregate_linear_backward", aggregate_linear_backward_cpu);
}
TORCH_LIBRARY_IMPL(plimsoll, Meta, m) {
  m.impl("aggregate_linear", aggregate_linear_meta);
  m.impl("aggregate_linear_backward", aggregate_linear_backward_meta);
}
TORCH_LIBRARY_IMPL(plimsoll, Autograd, m) {
  m.impl("aggregate_linear", aggregate_linear_autograd);
  m.impl("aggregate_linear_backward", aggregate_linear_backward_autograd);
}

}  // namespace plimsoll
