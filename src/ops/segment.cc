#include "ops/segment.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "base/error.h"
#include "kernels/segment.h"
#include "ops/operator.h"

namespace plimsoll {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Tensor = at::Tensor;
using Three = std::tuple<Tensor, Tensor, Tensor>;
using Four = std::tuple<Tensor, Tensor, Tensor, Tensor>;

// Segments that one thread takes at a time, and groups whose sums of weight gradients are kept apart.
constexpr int64_t kGrain = 64;

Reduce reduce_of(std::string_view name) {
  if (name == "sum") return Reduce::sum;
  if (name == "mean") return Reduce::mean;
  if (name == "max") return Reduce::max;
  throw UsageError("segment_reduce: '" + std::string(name) + "' is not sum, mean or max");
}

void check(const Tensor& x, const Tensor& ptr) {
  require(x.dim() == 2 && (x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble),
          "x f32 or f64 [N, F]", x);
  require(ptr.dim() == 1 && ptr.scalar_type() == at::kLong && ptr.numel() > 0 && ptr.is_contiguous(),
          "ptr i64 [G + 1]", ptr);
  const int64_t* const p = ptr.const_data_ptr<int64_t>();
  const int64_t segments = ptr.numel() - 1;
  bool rises = p[0] == 0 && p[segments] == x.size(0);
  for (int64_t g = 0; g < segments; ++g) rises &= p[g] <= p[g + 1];
  if (!rises) throw UsageError("segments: ptr does not rise from 0 to the rows of x");
}

template <typename Work>
void over_segments(const Tensor& x, const Tensor& ptr, const Work& work) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "segments", [&] {
    at::parallel_for(0, ptr.numel() - 1, kGrain, [&](int64_t begin, int64_t end) {
      work(segment_kernels<scalar_t>(kernel_level()), begin, end, scalar_t());
    });
  });
}

Tensor reduce_cpu(const Tensor& input, const Tensor& ptr, std::string_view reduce) {
  check(input, ptr);
  const Reduce kind = reduce_of(reduce);
  const Tensor x = input.contiguous();
  const Tensor out = at::empty({ptr.numel() - 1, x.size(1)}, x.options());
  over_segments(x, ptr, [&](const auto& kernels, int64_t begin, int64_t end, auto zero) {
    using T = decltype(zero);
    kernels.reduce(read<T>(x), ptr.const_data_ptr<int64_t>(), x.size(1), kind, begin, end, write<T>(out));
  });
  return out;
}

Tensor reduce_backward_cpu(const Tensor& grad, const Tensor& input, const Tensor& out, const Tensor& ptr,
                           std::string_view reduce) {
  check(input, ptr);
  const Reduce kind = reduce_of(reduce);
  const Tensor x = input.contiguous();
  const Tensor dout = grad.contiguous();
  require_like(x, dout, out.sizes(), "a gradient of the output's shape");
  const Tensor dx = at::empty_like(x);
  over_segments(x, ptr, [&](const auto& kernels, int64_t begin, int64_t end, auto zero) {
    using T = decltype(zero);
    kernels.reduce_backward(read<T>(dout), read<T>(x), read<T>(out), ptr.const_data_ptr<int64_t>(), x.size(1),
                            kind, begin, end, write<T>(dx));
  });
  return dx;
}

Tensor softmax_cpu(const Tensor& input, const Tensor& ptr) {
  check(input, ptr);
  const Tensor x = input.contiguous();
  const Tensor out = at::empty_like(x);
  over_segments(x, ptr, [&](const auto& kernels, int64_t begin, int64_t end, auto zero) {
    using T = decltype(zero);
    kernels.softmax(read<T>(x), ptr.const_data_ptr<int64_t>(), x.size(1), begin, end, write<T>(out));
  });
  return out;
}

Tensor softmax_backward_cpu(const Tensor& grad, const Tensor& out, const Tensor& ptr) {
  check(out, ptr);
  const Tensor dout = grad.contiguous();
  require_like(out, dout, out.sizes(), "a gradient of the output's shape");
  const Tensor dx = at::empty_like(out);
  over_segments(out, ptr, [&](const auto& kernels, int64_t begin, int64_t end, auto zero) {
    using T = decltype(zero);
    kernels.softmax_backward(read<T>(dout), read<T>(out), ptr.const_data_ptr<int64_t>(), out.size(1), begin,
                             end, write<T>(dx));
  });
  return dx;
}

Three norm_cpu(const Tensor& input, const Tensor& ptr, const Tensor& weight, const Tensor& bias,
               const Tensor& mean_scale, double eps) {
  check(input, ptr);
  const Tensor x = input.contiguous();
  for (const Tensor* each : {&weight, &bias, &mean_scale})
    require_like(x, *each, {x.size(1)}, "weight, bias and mean_scale [F] of x's dtype");
  const Tensor out = at::empty_like(x);
  const Tensor mean = at::empty({ptr.numel() - 1, x.size(1)}, x.options());
  const Tensor scale = at::empty_like(mean);
  over_segments(x, ptr, [&](const auto& kernels, int64_t begin, int64_t end, auto zero) {
    using T = decltype(zero);
    kernels.graph_norm(read<T>(x), ptr.const_data_ptr<int64_t>(), x.size(1), read<T>(weight), read<T>(bias),
                       read<T>(mean_scale), static_cast<T>(eps), begin, end, write<T>(out), write<T>(mean),
                       write<T>(scale));
  });
  return {out, mean, scale};
}

Four norm_backward_cpu(const Tensor& grad, const Tensor& input, const Tensor& ptr, const Tensor& weight,
                       const Tensor& mean_scale, const Tensor& mean, const Tensor& scale) {
  check(input, ptr);
  const Tensor x = input.contiguous();
  const Tensor dout = grad.contiguous();
  require_like(x, dout, x.sizes(), "a gradient of the output's shape");
  const Tensor dx = at::empty_like(x);
  const int64_t segments = ptr.numel() - 1;
  const int64_t groups = (segments + kGrain - 1) / kGrain;
  // A row of sums a group, added in the order of groups.
  const Tensor sums = at::zeros({3, std::max<int64_t>(groups, 1), x.size(1)}, x.options());
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "graph_norm_backward", [&] {
    scalar_t* const to = sums.mutable_data_ptr<scalar_t>();
    const int64_t part = sums.stride(0);
    at::parallel_for(0, groups, 1, [&](int64_t first, int64_t last) {
      for (int64_t g = first; g < last; ++g) {
        scalar_t* const mine = to + g * x.size(1);
        segment_kernels<scalar_t>(kernel_level())
            .graph_norm_backward(read<scalar_t>(dout), read<scalar_t>(x), ptr.const_data_ptr<int64_t>(),
                                 x.size(1), read<scalar_t>(weight), read<scalar_t>(mean_scale),
                                 read<scalar_t>(mean), read<scalar_t>(scale), g * kGrain,
                                 std::min((g + 1) * kGrain, segments), write<scalar_t>(dx), mine, mine + part,
                                 mine + 2 * part);
      }
    });
  });
  const Tensor total = sums.select(1, 0).clone();
  for (int64_t g = 1; g < groups; ++g) total.add_(sums.select(1, g));
  return {dx, total.select(0, 0).clone(), total.select(0, 1).clone(), total.select(0, 2).clone()};
}

Tensor reduce_meta(const Tensor& x, const Tensor& ptr, std::string_view) {
  return at::empty_symint({ptr.sym_size(0) - 1, x.sym_size(1)}, x.options());
}
Tensor reduce_backward_meta(const Tensor&, const Tensor& x, const Tensor&, const Tensor&, std::string_view) {
  return at::empty_symint(x.sym_sizes(), x.options());
}
Tensor softmax_meta(const Tensor& x, const Tensor&) {
  return at::empty_symint(x.sym_sizes(), x.options());
}
Tensor softmax_backward_meta(const Tensor&, const Tensor& out, const Tensor&) {
  return at::empty_symint(out.sym_sizes(), out.options());
}
Three norm_meta(const Tensor& x, const Tensor& ptr, const Tensor&, const Tensor&, const Tensor&, double) {
  const auto per_segment = [&] {
    return at::empty_symint({ptr.sym_size(0) - 1, x.sym_size(1)}, x.options());
  };
  return {at::empty_symint(x.sym_sizes(), x.options()), per_segment(), per_segment()};
}
Four norm_backward_meta(const Tensor&, const Tensor& x, const Tensor&, const Tensor&, const Tensor&,
                        const Tensor&, const Tensor&) {
  const auto per_column = [&] { return at::empty_symint({x.sym_size(1)}, x.options()); };
  return {at::empty_symint(x.sym_sizes(), x.options()), per_column(), per_column(), per_column()};
}

class ReduceFunction : public torch::autograd::Function<ReduceFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& ptr,
                        std::string_view reduce) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    static const auto op = find_operator<decltype(reduce_cpu)>("plimsoll::segment_reduce");
    const Tensor out = op.call(x, ptr, reduce);
    context->save_for_backward({x, out, ptr});
    context->saved_data["reduce"] = std::string(reduce);
    return out;
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    const variable_list v = context->get_saved_variables();
    static const auto op = find_operator<decltype(reduce_backward_cpu)>("plimsoll::segment_reduce_backward");
    return {op.call(grads[0], v[0], v[1], v[2], context->saved_data["reduce"].toStringRef()), Tensor(),
            Tensor()};
  }
};

class SoftmaxFunction : public torch::autograd::Function<SoftmaxFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& ptr) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    static const auto op = find_operator<decltype(softmax_cpu)>("plimsoll::segment_softmax");
    const Tensor out = op.call(x, ptr);
    context->save_for_backward({out, ptr});
    return out;
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    const variable_list v = context->get_saved_variables();
    static const auto op =
        find_operator<decltype(softmax_backward_cpu)>("plimsoll::segment_softmax_backward");
    return {op.call(grads[0], v[0], v[1]), Tensor()};
  }
};

class NormFunction : public torch::autograd::Function<NormFunction> {
 public:
  static variable_list forward(AutogradContext* context, const Tensor& x, const Tensor& ptr,
                               const Tensor& weight, const Tensor& bias, const Tensor& mean_scale,
                               double eps) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    static const auto op = find_operator<decltype(norm_cpu)>("plimsoll::graph_norm");
    auto [out, mean, scale] = op.call(x, ptr, weight, bias, mean_scale, eps);
    context->save_for_backward({x, ptr, weight, mean_scale, mean, scale});
    context->mark_non_differentiable({mean, scale});
    context->set_materialize_grads(false);
    return {out, mean, scale};
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    const variable_list v = context->get_saved_variables();
    static const auto op = find_operator<decltype(norm_backward_cpu)>("plimsoll::graph_norm_backward");
    auto [dx, dweight, dbias, dmean_scale] = op.call(grads[0], v[0], v[1], v[2], v[3], v[4], v[5]);
    return {dx, Tensor(), dweight, dbias, dmean_scale, Tensor()};
  }
};

Tensor reduce_autograd(const Tensor& x, const Tensor& ptr, std::string_view reduce) {
  return ReduceFunction::apply(x, ptr, reduce);
}
Tensor softmax_autograd(const Tensor& x, const Tensor& ptr) {
  return SoftmaxFunction::apply(x, ptr);
}
Three norm_autograd(const Tensor& x, const Tensor& ptr, const Tensor& weight, const Tensor& bias,
                    const Tensor& mean_scale, double eps) {
  const variable_list made = NormFunction::apply(x, ptr, weight, bias, mean_scale, eps);
  return {made[0], made[1], made[2]};
}

// Backward operators refuse to be differentiated again.
template <typename Backward, typename... Arguments>
auto once(const char* name, const Tensor& grad, const Arguments&... arguments) {
  auto made = [&] {
    const at::AutoDispatchBelowADInplaceOrView guard;
    return find_operator<Backward>(name).call(grad, arguments...);
  }();
  variable_list inputs = {grad};
  const auto add = [&](const auto& argument) {
    if constexpr (std::is_same_v<std::decay_t<decltype(argument)>, Tensor>) inputs.push_back(argument);
  };
  (add(arguments), ...);
  if constexpr (std::is_same_v<decltype(made), Tensor>) {
    auto list = std::tie(made);
    refuse_second_derivatives(list, inputs);
  } else {
    refuse_second_derivatives(made, inputs);
  }
  return made;
}

Tensor reduce_backward_autograd(const Tensor& grad, const Tensor& x, const Tensor& out, const Tensor& ptr,
                                std::string_view reduce) {
  return once<decltype(reduce_backward_cpu)>("plimsoll::segment_reduce_backward", grad, x, out, ptr, reduce);
}
Tensor softmax_backward_autograd(const Tensor& grad, const Tensor& out, const Tensor& ptr) {
  return once<decltype(softmax_backward_cpu)>("plimsoll::segment_softmax_backward", grad, out, ptr);
}
Four norm_backward_autograd(const Tensor& grad, const Tensor& x, const Tensor& ptr, const Tensor& weight,
                            const Tensor& mean_scale, const Tensor& mean, const Tensor& scale) {
  return once<decltype(norm_backward_cpu)>("plimsoll::graph_norm_backward", grad, x, ptr, weight, mean_scale,
                                           mean, scale);
}

}  // namespace

Tensor segment_reduce(const Tensor& x, const Tensor& ptr, const std::string& reduce) {
  static const auto op = find_operator<decltype(reduce_cpu)>("plimsoll::segment_reduce");
  return op.call(x, ptr, reduce);
}

Tensor segment_softmax(const Tensor& x, const Tensor& ptr) {
  static const auto op = find_operator<decltype(softmax_cpu)>("plimsoll::segment_softmax");
  return op.call(x, ptr);
}

Tensor graph_norm(const Tensor& x, const Tensor& ptr, const Tensor& weight, const Tensor& bias,
                  const Tensor& mean_scale, double eps) {
  static const auto op = find_operator<decltype(norm_cpu)>("plimsoll::graph_norm");
  return std::get<0>(op.call(x, ptr, weight, bias, mean_scale, eps));
}

TORCH_LIBRARY_FRAGMENT(plimsoll, m) {
  m.def("segment_reduce(Tensor x, Tensor ptr, str reduce) -> Tensor");
  m.def("segment_reduce_backward(Tensor grad, Tensor x, Tensor out, Tensor ptr, str reduce) -> Tensor");
  m.def("segment_softmax(Tensor x, Tensor ptr) -> Tensor");
  m.def("segment_softmax_backward(Tensor grad, Tensor out, Tensor ptr) -> Tensor");
  m.def(
      "graph_norm(Tensor x, Tensor ptr, Tensor weight, Tensor bias, Tensor mean_scale, float eps) -> "
      "(Tensor out, Tensor mean, Tensor scale)");
  m.def(
      "graph_norm_backward(Tensor grad, Tensor x, Tensor ptr, Tensor weight, Tensor mean_scale, Tensor mean, "
      "Tensor scale) -> (Tensor x, Tensor weight, Tensor bias, Tensor mean_scale)");
}
TORCH_LIBRARY_IMPL(plimsoll, CPU, m) {
  m.impl("segment_reduce", reduce_cpu);
  m.impl("segment_reduce_backward", reduce_backward_cpu);
  m.impl("segment_softmax", softmax_cpu);
  m.impl("segment_softmax_backward", softmax_backward_cpu);
  m.impl("graph_norm", norm_cpu);
  m.impl("graph_norm_backward", norm_backward_cpu);
}
TORCH_LIBRARY_IMPL(plimsoll, Meta, m) {
  m.impl("segment_reduce", reduce_meta);
  m.impl("segment_reduce_backward", reduce_backward_meta);
  m.impl("segment_softmax", softmax_meta);
  m.impl("segment_softmax_backward", softmax_backward_meta);
  m.impl("graph_norm", norm_meta);
  m.impl("graph_norm_backward", norm_backward_meta);
}
TORCH_LIBRARY_IMPL(plimsoll, Autograd, m) {
  m.impl("segment_reduce", reduce_autograd);
  m.impl("segment_reduce_backward", reduce_backward_autograd);
  m.impl("segment_softmax", softmax_autograd);
  m.impl("segment_softmax_backward", softmax_backward_autograd);
  m.impl("graph_norm", norm_autograd);
  m.impl("graph_norm_backward", norm_backward_autograd);
}

}  // namespace plimsoll
