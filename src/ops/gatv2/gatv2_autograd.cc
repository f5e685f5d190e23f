#include <ATen/Functions.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "ops/attention/attention_operator.h"
#include "ops/gatv2/gatv2.h"
#include "ops/meta_tensors.h"

namespace plimsoll {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

#define PLIMSOLL_GATV2_PARAMETERS                                                                   \
  [[maybe_unused]] const at::Tensor &x, [[maybe_unused]] const at::Tensor &weight,                  \
      [[maybe_unused]] const Optional &weight_bias, [[maybe_unused]] const Optional &x_target,      \
      [[maybe_unused]] const Optional &target_weight, [[maybe_unused]] const Optional &target_bias, \
      [[maybe_unused]] const at::Tensor &att, [[maybe_unused]] const at::Tensor &order,             \
      [[maybe_unused]] const Optional &edge_attr, [[maybe_unused]] const Optional &edge_weight,     \
      [[maybe_unused]] const Optional &bias, [[maybe_unused]] const Optional &seed,                 \
      [[maybe_unused]] const Optional &keys, PLIMSOLL_ATTENTION_PARAMETERS
#define PLIMSOLL_GATV2_ARGUMENTS                                                                          \
  x, weight, weight_bias, x_target, target_weight, target_bias, att, order, edge_attr, edge_weight, bias, \
      seed, keys, PLIMSOLL_ATTENTION_ARGUMENTS
#define PLIMSOLL_GATV2_SCHEMA                                                                             \
  "Tensor x, Tensor weight, Tensor? weight_bias, Tensor? x_target, Tensor? target_weight, Tensor? "       \
  "target_bias, Tensor att, Tensor order, Tensor? edge_attr, Tensor? edge_weight, Tensor? bias, Tensor? " \
  "seed, Tensor? keys, " PLIMSOLL_ATTENTION_SCHEMA

using Made = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor>;
using Gradients = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor,
                             at::Tensor, at::Tensor, at::Tensor, at::Tensor>;
using Forward = Made(PLIMSOLL_GATV2_PARAMETERS);
using Backward = Gradients(const at::Tensor& grad_out, const Optional& grad_alpha, PLIMSOLL_GATV2_PARAMETERS,
                           const at::Tensor& z, const at::Tensor& z_target, const at::Tensor& highest,
                           const at::Tensor& scale, bool needs_x, bool needs_edge_attr);

Gatv2Tensors tensors_of(PLIMSOLL_GATV2_PARAMETERS) {
  Gatv2Tensors in;
  in.x = x.contiguous();
  in.weight = weight.contiguous();
  in.weight_bias = plain(weight_bias);
  in.x_target = plain(x_target);
  in.target_weight = plain(target_weight);
  in.target_bias = plain(target_bias);
  in.att = att.contiguous();
  in.order = order;
  in.edge_attr = plain(edge_attr);
  in.edge_weight = plain(edge_weight);
  in.bias = plain(bias);
  in.seed = plain(seed);
  in.keys = plain(keys);
  return in;
}

Made forward_any(PLIMSOLL_GATV2_PARAMETERS) {
  const Gatv2Output made =
      gatv2_forward(tensors_of(PLIMSOLL_GATV2_ARGUMENTS), options_of(PLIMSOLL_ATTENTION_ARGUMENTS));
  const Gatv2Saved& saved = made.saved;
  return {made.out, saved.alpha, saved.z, saved.z_target, saved.highest, saved.scale};
}

Made forward_meta(PLIMSOLL_GATV2_PARAMETERS) {
  if (MetaTensors::active()) return forward_any(PLIMSOLL_GATV2_ARGUMENTS);
  const c10::SymInt sources = x.sym_size(0);
  const c10::SymInt targets = x_target ? x_target->sym_size(0) : sources;
  const c10::SymInt edges = edges_of_order(order.sym_numel(), targets);
  const c10::SymInt none(0);
  const auto rows = [&](const c10::SymInt& count) {
    return at::empty_symint({count, weight.sym_size(0)}, x.options());
  };
  const auto scores = [&](const c10::SymInt& count) {
    return at::empty_symint({count, heads}, sums_like(x));
  };
  return {rows(targets),
          scores(return_attention ? edges + (loops ? targets : none) : none),
          rows(keep_projection ? sources : none),
          rows(keep_projection && target_weight ? targets : none),
          scores(targets),
          scores(targets)};
}

Gradients backward_any(const at::Tensor& grad_out, const Optional& grad_alpha, PLIMSOLL_GATV2_PARAMETERS,
                       const at::Tensor& z, const at::Tensor& z_target, const at::Tensor& highest,
                       const at::Tensor& scale, bool needs_x, bool needs_edge_attr) {
  const Gatv2InputGradients made = gatv2_backward(
      grad_out, grad_alpha.value_or(at::Tensor()), tensors_of(PLIMSOLL_GATV2_ARGUMENTS),
      {z, z_target, highest, scale, {}}, options_of(PLIMSOLL_ATTENTION_ARGUMENTS), needs_x, needs_edge_attr);
  const auto full = [&](const at::Tensor& tensor) { return or_empty(tensor, x); };
  return {full(made.x),        full(made.weight),        full(made.weight_bias),
          full(made.x_target), full(made.target_weight), full(made.target_bias),
          full(made.att),      full(made.edge_attr),     full(made.edge_weight),
          full(made.bias)};
}

Gradients backward_meta(const at::Tensor& grad_out, const Optional& grad_alpha, PLIMSOLL_GATV2_PARAMETERS,
                        const at::Tensor& z, const at::Tensor& z_target, const at::Tensor& highest,
                        const at::Tensor& scale, bool needs_x, bool needs_edge_attr) {
  if (MetaTensors::active())
    return backward_any(grad_out, grad_alpha, PLIMSOLL_GATV2_ARGUMENTS, z, z_target, highest, scale, needs_x,
                        needs_edge_attr);
  const auto like = [&](const Optional& tensor, bool needed = true) {
    return needed && tensor ? at::empty_symint(tensor->sym_sizes(), tensor->options())
                            : at::empty({0}, x.options());
  };
  return {like(x, needs_x),    like(weight),
          like(weight_bias),   like(x_target),
          like(target_weight), like(target_bias),
          like(att),           like(edge_attr, needs_edge_attr && edge_weight),
          like(edge_weight),   bias ? like(bias) : at::empty_symint({weight.sym_size(0)}, x.options())};
}

class Gatv2Function : public torch::autograd::Function<Gatv2Function> {
 public:
  static variable_list forward(AutogradContext* context, PLIMSOLL_GATV2_PARAMETERS) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    static const auto forward_operator = find_operator<Forward>("plimsoll::gatv2");
    auto [out, alpha, z, z_target, highest, scale] = forward_operator.call(PLIMSOLL_GATV2_ARGUMENTS);
    context->save_for_backward({x, weight, kept(weight_bias), kept(x_target), kept(target_weight),
                                kept(target_bias), att, order, kept(edge_attr), kept(edge_weight), kept(bias),
                                kept(seed), kept(keys), z, z_target, highest, scale});
    context->mark_non_differentiable({z, z_target, highest, scale});
    context->set_materialize_grads(false);  // Otherwise a zero gradient of the size of z would be allocated.
    save_options(context, options_of(PLIMSOLL_ATTENTION_ARGUMENTS));
    return {out, alpha, z, z_target, highest, scale};
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const variable_list v = context->get_saved_variables();
    const AttentionOptions options = saved_options(context);
    const at::Tensor grad_out = gradient_of_out(grads, v[0], v[1], v[15]);
    const bool has_alpha = options.return_attention && grads[1].defined();
    static const auto backward_operator = find_operator<Backward>("plimsoll::gatv2_backward");
    auto [dx, dweight, dweight_bias, dx_target, dtarget_weight, dtarget_bias, datt, dedge_attr, dedge_weight,
          dbias] = backward_operator.call(grad_out, has_alpha ? Optional(grads[1]) : std::nullopt, v[0], v[1],
                                          maybe(v[2]), maybe(v[3]), maybe(v[4]), maybe(v[5]), v[6], v[7],
                                          maybe(v[8]), maybe(v[9]), maybe(v[10]), maybe(v[11]), maybe(v[12]),
                                          PLIMSOLL_ATTENTION_MEMBERS(options), v[13], v[14], v[15], v[16],
                                          needs(context, v, 0), needs(context, v, 8));
    return gradients_of<13>(context, v,
                            {{dx, dweight, dweight_bias, dx_target, dtarget_weight, dtarget_bias, datt,
                              at::Tensor(), dedge_attr, dedge_weight, dbias}});
  }
};

Made forward_autograd(PLIMSOLL_GATV2_PARAMETERS) {
  const variable_list out = Gatv2Function::apply(PLIMSOLL_GATV2_ARGUMENTS);
  return {out[0], out[1], out[2], out[3], out[4], out[5]};
}

Gradients backward_autograd(const at::Tensor& grad_out, const Optional& grad_alpha, PLIMSOLL_GATV2_PARAMETERS,
                            const at::Tensor& z, const at::Tensor& z_target, const at::Tensor& highest,
                            const at::Tensor& scale, bool needs_x, bool needs_edge_attr) {
  static const auto backward_operator = find_operator<Backward>("plimsoll::gatv2_backward");
  Gradients made = [&] {
    const at::AutoDispatchBelowADInplaceOrView guard;
    return backward_operator.call(grad_out, grad_alpha, PLIMSOLL_GATV2_ARGUMENTS, z, z_target, highest, scale,
                                  needs_x, needs_edge_attr);
  }();
  refuse_second_derivatives(
      made, {grad_out, kept(grad_alpha), x, weight, kept(weight_bias), kept(x_target), kept(target_weight),
             kept(target_bias), att, kept(edge_attr), kept(edge_weight)});
  return made;
}

// Scores, and the tensors from which they are computed, stay float32.
template <c10::DeviceType kDevice>
Made forward_autocast(PLIMSOLL_GATV2_PARAMETERS) {
  const Autocast autocast(kDevice);
  static const auto forward_operator = find_operator<Forward>("plimsoll::gatv2");
  return forward_operator.call(autocast.low(x), autocast.low(weight), autocast.low(weight_bias),
                               autocast.low(x_target), autocast.low(target_weight), autocast.low(target_bias),
                               autocast.either(att), order, autocast.low(edge_attr),
                               autocast.either(edge_weight), autocast.either(bias), seed, keys, heads, slope,
                               loops, fill, fill_value, dropout, keep_projection, return_attention);
}

}  // namespace

std::pair<at::Tensor, at::Tensor> gatv2(const Gatv2Tensors& in, const AttentionOptions& options) {
  static const auto forward_operator = find_operator<Forward>("plimsoll::gatv2");
  const Made made = forward_operator.call(
      in.x, in.weight, maybe(in.weight_bias), maybe(in.x_target), maybe(in.target_weight),
      maybe(in.target_bias), in.att, in.order, maybe(in.edge_attr), maybe(in.edge_weight), maybe(in.bias),
      maybe(in.seed), maybe(in.keys), PLIMSOLL_ATTENTION_MEMBERS(options));
  return {std::get<0>(made), std::get<1>(made)};
}

TORCH_LIBRARY_FRAGMENT(plimsoll, m) {
  m.def("gatv2(" PLIMSOLL_GATV2_SCHEMA
        ") -> (Tensor out, Tensor alpha, Tensor z, Tensor z_target, Tensor highest, Tensor scale)");
  m.def("gatv2_backward(Tensor grad_out, Tensor? grad_alpha, " PLIMSOLL_GATV2_SCHEMA
        ", Tensor z, Tensor z_target, Tensor highest, Tensor scale, bool needs_x, bool needs_edge_attr) -> "
        "(Tensor x, Tensor weight, Tensor weight_bias, Tensor x_target, Tensor target_weight, Tensor "
        "target_bias, "
        "Tensor att, Tensor edge_attr, Tensor edge_weight, Tensor bias)");
}
PLIMSOLL_REGISTER_ATTENTION("gatv2")

}  // namespace plimsoll
