#include <ATen/Functions.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "ops/autocast.h"
#include "ops/meta_tensors.h"
#include "ops/operator.h"
#include "ops/segment/segment.h"
#include "ops/segment/segment_cpu.h"
#include "ops/segment/segment_gpu.h"

// The operators of segment.h and their gradients; gat_autograd.cc shows how they are connected.

namespace plimsoll {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Tensor = at::Tensor;
using Three = std::tuple<Tensor, Tensor, Tensor>;
using Four = std::tuple<Tensor, Tensor, Tensor, Tensor>;

// Returns whether memory is being planned: under MetaTensors, the functions of the kernels make the same
// allocations as with data.
bool planning() {
  return MetaTensors::active();
}

Tensor reduce_meta(const Tensor& x, const Tensor& ptr, std::string_view reduce) {
  if (planning()) return segment_reduce_cpu(x, ptr, reduce);
  return at::empty_symint({ptr.sym_size(0) - 1, x.sym_size(1)}, x.options());
}
Tensor reduce_backward_meta(const Tensor& grad, const Tensor& x, const Tensor& out, const Tensor& ptr,
                            std::string_view reduce) {
  if (planning()) return segment_reduce_backward_cpu(grad, x, out, ptr, reduce);
  return at::empty_symint(x.sym_sizes(), x.options());
}
Tensor softmax_meta(const Tensor& x, const Tensor& ptr) {
  if (planning()) return segment_softmax_cpu(x, ptr);
  return at::empty_symint(x.sym_sizes(), x.options());
}
Tensor softmax_backward_meta(const Tensor& grad, const Tensor& out, const Tensor& ptr) {
  if (planning()) return segment_softmax_backward_cpu(grad, out, ptr);
  return at::empty_symint(out.sym_sizes(), out.options());
}
Three norm_meta(const Tensor& x, const Tensor& ptr, const Tensor& weight, const Tensor& bias,
                const Tensor& mean_scale, double eps) {
  if (planning()) return graph_norm_cpu(x, ptr, weight, bias, mean_scale, eps);
  const auto per_segment = [&] {
    return at::empty_symint({ptr.sym_size(0) - 1, x.sym_size(1)}, x.options());
  };
  return {at::empty_symint(x.sym_sizes(), x.options()), per_segment(), per_segment()};
}
Four norm_backward_meta(const Tensor& grad, const Tensor& x, const Tensor& ptr, const Tensor& weight,
                        const Tensor& mean_scale, const Tensor& mean, const Tensor& scale) {
  if (planning()) return graph_norm_backward_cpu(grad, x, ptr, weight, mean_scale, mean, scale);
  const auto per_column = [&] { return at::empty_symint({x.sym_size(1)}, x.options()); };
  return {at::empty_symint(x.sym_sizes(), x.options()), per_column(), per_column(), per_column()};
}
Tensor gather_csr_meta(const Tensor& x, const Tensor& ptr, c10::SymInt rows) {
  if (planning()) return gather_csr_cpu(x, ptr, rows.expect_int());
  return at::empty_symint({rows, x.sym_size(1)}, x.options());
}

class ReduceFunction : public torch::autograd::Function<ReduceFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& ptr,
                        std::string_view reduce) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    static const auto op = find_operator<decltype(segment_reduce_cpu)>("plimsoll::segment_reduce");
    const Tensor out = op.call(x, ptr, reduce);
    context->save_for_backward({x, out, ptr});
    context->saved_data["reduce"] = std::string(reduce);
    return out;
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    const variable_list v = context->get_saved_variables();
    static const auto op =
        find_operator<decltype(segment_reduce_backward_cpu)>("plimsoll::segment_reduce_backward");
    return {op.call(grads[0], v[0], v[1], v[2], context->saved_data["reduce"].toStringRef()), Tensor(),
            Tensor()};
  }
};

class SoftmaxFunction : public torch::autograd::Function<SoftmaxFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& ptr) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    static const auto op = find_operator<decltype(segment_softmax_cpu)>("plimsoll::segment_softmax");
    const Tensor out = op.call(x, ptr);
    context->save_for_backward({out, ptr});
    return out;
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    const variable_list v = context->get_saved_variables();
    static const auto op =
        find_operator<decltype(segment_softmax_backward_cpu)>("plimsoll::segment_softmax_backward");
    return {op.call(grads[0], v[0], v[1]), Tensor()};
  }
};

class NormFunction : public torch::autograd::Function<NormFunction> {
 public:
  static variable_list forward(AutogradContext* context, const Tensor& x, const Tensor& ptr,
                               const Tensor& weight, const Tensor& bias, const Tensor& mean_scale,
                               double eps) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    static const auto op = find_operator<decltype(graph_norm_cpu)>("plimsoll::graph_norm");
    auto [out, mean, scale] = op.call(x, ptr, weight, bias, mean_scale, eps);
    context->save_for_backward({x, ptr, weight, mean_scale, mean, scale});
    context->mark_non_differentiable({mean, scale});
    context->set_materialize_grads(false);
    return {out, mean, scale};
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    if (!grads[0].defined()) return variable_list(6);
    const variable_list v = context->get_saved_variables();
    static const auto op = find_operator<decltype(graph_norm_backward_cpu)>("plimsoll::graph_norm_backward");
    auto [dx, dweight, dbias, dmean_scale] = op.call(grads[0], v[0], v[1], v[2], v[3], v[4], v[5]);
    return {dx, Tensor(), dweight, dbias, dmean_scale, Tensor()};
  }
};

// Sizes are symbolic if only shapes are computed.
using GatherCsr = Tensor(const Tensor&, const Tensor&, c10::SymInt);

class GatherFunction : public torch::autograd::Function<GatherFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& ptr, c10::SymInt rows) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    static const auto op = find_operator<GatherCsr>("plimsoll::gather_csr");
    context->save_for_backward({ptr});
    return op.call(x, ptr, rows);
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    static const auto op = find_operator<decltype(segment_reduce_cpu)>("plimsoll::segment_reduce");
    return {op.call(grads[0], context->get_saved_variables()[0], "sum"), Tensor(), Tensor()};
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

Tensor gather_csr_autograd(const Tensor& x, const Tensor& ptr, c10::SymInt rows) {
  return GatherFunction::apply(x, ptr, rows);
}

// Runs a backward operator whose result must not be differentiated again.
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
  return once<decltype(segment_reduce_backward_cpu)>("plimsoll::segment_reduce_backward", grad, x, out, ptr,
                                                     reduce);
}
Tensor softmax_backward_autograd(const Tensor& grad, const Tensor& out, const Tensor& ptr) {
  return once<decltype(segment_softmax_backward_cpu)>("plimsoll::segment_softmax_backward", grad, out, ptr);
}
Four norm_backward_autograd(const Tensor& grad, const Tensor& x, const Tensor& ptr, const Tensor& weight,
                            const Tensor& mean_scale, const Tensor& mean, const Tensor& scale) {
  return once<decltype(graph_norm_backward_cpu)>("plimsoll::graph_norm_backward", grad, x, ptr, weight,
                                                 mean_scale, mean, scale);
}

// Torch computes reductions and norms in float32 under autocast.
template <c10::DeviceType kDevice>
Tensor reduce_autocast(const Tensor& x, const Tensor& ptr, std::string_view reduce) {
  const Autocast autocast(kDevice);
  return segment_reduce(autocast.full(x), ptr, parse_word<Reduce>(reduce, "segment_reduce"));
}
template <c10::DeviceType kDevice>
Tensor softmax_autocast(const Tensor& x, const Tensor& ptr) {
  const Autocast autocast(kDevice);
  return segment_softmax(autocast.full(x), ptr);
}
template <c10::DeviceType kDevice>
Tensor gather_csr_autocast(const Tensor& x, const Tensor& ptr, c10::SymInt rows) {
  const Autocast autocast(kDevice);
  static const auto op = find_operator<GatherCsr>("plimsoll::gather_csr");
  return op.call(autocast.full(x), ptr, rows);
}
template <c10::DeviceType kDevice>
Three norm_autocast(const Tensor& x, const Tensor& ptr, const Tensor& weight, const Tensor& bias,
                    const Tensor& mean_scale, double eps) {
  const Autocast autocast(kDevice);
  static const auto op = find_operator<decltype(graph_norm_cpu)>("plimsoll::graph_norm");
  return op.call(autocast.full(x), ptr, autocast.full(weight), autocast.full(bias), autocast.full(mean_scale),
                 eps);
}

template <c10::DeviceType kDevice>
void register_autocast(torch::Library& m) {
  m.impl("segment_reduce", reduce_autocast<kDevice>);
  m.impl("segment_softmax", softmax_autocast<kDevice>);
  m.impl("graph_norm", norm_autocast<kDevice>);
  m.impl("gather_csr", gather_csr_autocast<kDevice>);
}

}  // namespace

Tensor segment_reduce(const Tensor& x, const Tensor& ptr, Reduce reduce) {
  static const auto op = find_operator<decltype(segment_reduce_cpu)>("plimsoll::segment_reduce");
  return op.call(x, ptr, word_of(reduce));
}

Tensor segment_softmax(const Tensor& x, const Tensor& ptr) {
  static const auto op = find_operator<decltype(segment_softmax_cpu)>("plimsoll::segment_softmax");
  return op.call(x, ptr);
}

Tensor graph_norm(const Tensor& x, const Tensor& ptr, const Tensor& weight, const Tensor& bias,
                  const Tensor& mean_scale, double eps) {
  static const auto op = find_operator<decltype(graph_norm_cpu)>("plimsoll::graph_norm");
  return std::get<0>(op.call(x, ptr, weight, bias, mean_scale, eps));
}

TORCH_LIBRARY_FRAGMENT(plimsoll, m) {
  m.def("gather_csr(Tensor x, Tensor ptr, SymInt rows) -> Tensor");
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
  m.impl("gather_csr", gather_csr_cpu);
  m.impl("segment_reduce", segment_reduce_cpu);
  m.impl("segment_reduce_backward", segment_reduce_backward_cpu);
  m.impl("segment_softmax", segment_softmax_cpu);
  m.impl("segment_softmax_backward", segment_softmax_backward_cpu);
  m.impl("graph_norm", graph_norm_cpu);
  m.impl("graph_norm_backward", graph_norm_backward_cpu);
}
TORCH_LIBRARY_IMPL(plimsoll, CUDA, m) {
  m.impl("gather_csr", gather_csr_on_device);
  m.impl("segment_reduce", segment_reduce_on_device);
  m.impl("segment_reduce_backward", segment_reduce_backward_on_device);
  m.impl("segment_softmax", segment_softmax_on_device);
  m.impl("segment_softmax_backward", segment_softmax_backward_on_device);
  m.impl("graph_norm", graph_norm_on_device);
  m.impl("graph_norm_backward", graph_norm_backward_on_device);
}
TORCH_LIBRARY_IMPL(plimsoll, Meta, m) {
  m.impl("gather_csr", gather_csr_meta);
  m.impl("segment_reduce", reduce_meta);
  m.impl("segment_reduce_backward", reduce_backward_meta);
  m.impl("segment_softmax", softmax_meta);
  m.impl("segment_softmax_backward", softmax_backward_meta);
  m.impl("graph_norm", norm_meta);
  m.impl("graph_norm_backward", norm_backward_meta);
}
TORCH_LIBRARY_IMPL(plimsoll, Autograd, m) {
  m.impl("gather_csr", gather_csr_autograd);
  m.impl("segment_reduce", reduce_autograd);
  m.impl("segment_reduce_backward", reduce_backward_autograd);
  m.impl("segment_softmax", softmax_autograd);
  m.impl("segment_softmax_backward", softmax_backward_autograd);
  m.impl("graph_norm", norm_autograd);
  m.impl("graph_norm_backward", norm_backward_autograd);
}
TORCH_LIBRARY_IMPL(plimsoll, AutocastCPU, m) {
  register_autocast<c10::DeviceType::CPU>(m);
}
TORCH_LIBRARY_IMPL(plimsoll, AutocastCUDA, m) {
  register_autocast<c10::DeviceType::CUDA>(m);
}

}  // namespace plimsoll
