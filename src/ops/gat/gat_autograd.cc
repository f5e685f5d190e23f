#include "ops/gat/gat_autograd.h"

#include <ATen/Functions.h>
#include <torch/csrc/autograd/custom_function.h>

#include "ops/attention/attention_operator.h"
#include "ops/meta_tensors.h"

namespace plimsoll {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Seven = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor>;

#define PLIMSOLL_GAT_PARAMETERS                                                                   \
  [[maybe_unused]] const at::Tensor &x, [[maybe_unused]] const at::Tensor &weight,                \
      [[maybe_unused]] const at::Tensor &att_source, [[maybe_unused]] const Optional &att_target, \
      [[maybe_unused]] const Optional &target_score, [[maybe_unused]] const at::Tensor &order,    \
      [[maybe_unused]] const Optional &edge_attr, [[maybe_unused]] const Optional &q,             \
      [[maybe_unused]] const Optional &bias, [[maybe_unused]] const Optional &seed,               \
      [[maybe_unused]] const Optional &keys, PLIMSOLL_ATTENTION_PARAMETERS
#define PLIMSOLL_GAT_ARGUMENTS                                                            \
  x, weight, att_source, att_target, target_score, order, edge_attr, q, bias, seed, keys, \
      PLIMSOLL_ATTENTION_ARGUMENTS
#define PLIMSOLL_GAT_SCHEMA                                                                              \
  "Tensor x, Tensor weight, Tensor att_source, Tensor? att_target, Tensor? target_score, Tensor order, " \
  "Tensor? edge_attr, Tensor? q, Tensor? bias, Tensor? seed, Tensor? keys, " PLIMSOLL_ATTENTION_SCHEMA

using Forward = Seven(PLIMSOLL_GAT_PARAMETERS);
using Eight = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor,
                         at::Tensor>;
using Backward = Eight(const at::Tensor& grad_out, const Optional& grad_alpha, PLIMSOLL_GAT_PARAMETERS,
                       const at::Tensor& z, const at::Tensor& s, const at::Tensor& t,
                       const at::Tensor& highest, const at::Tensor& scale, bool needs_x,
                       bool needs_edge_attr);

GatTensors tensors_of(PLIMSOLL_GAT_PARAMETERS) {
  GatTensors in;
  in.x = x.contiguous();
  in.weight = weight.contiguous();
  in.order = order;
  in.edge_attr = plain(edge_attr);
  in.bias = plain(bias);
  in.seed = plain(seed);
  in.keys = plain(keys);
  in.att_source = att_source.contiguous();
  in.att_target = plain(att_target);
  in.target_score = plain(target_score);
  in.q = plain(q);
  return in;
}

at::Tensor order_any(const at::Tensor& edge_index, int64_t sources, int64_t targets, bool same_nodes,
                     bool drop_loops, const Optional& ptr) {
  return edge_order(edge_index, sources, targets, same_nodes, drop_loops, plain(ptr));
}

at::Tensor order_meta(const at::Tensor& edge_index, c10::SymInt /*sources*/, c10::SymInt targets, bool, bool,
                      const Optional&) {
  return at::empty_symint({edge_order_size(0, 0) + 2 * targets + 2 * edge_index.sym_size(1)},
                          edge_index.options().dtype(at::kInt));
}

Seven forward_any(PLIMSOLL_GAT_PARAMETERS) {
  const GatOutput made =
      gat_forward(tensors_of(PLIMSOLL_GAT_ARGUMENTS), options_of(PLIMSOLL_ATTENTION_ARGUMENTS));
  const GatSaved& saved = made.saved;
  return {made.out, saved.alpha, saved.z, saved.s, saved.t, saved.highest, saved.scale};
}

Seven forward_meta(PLIMSOLL_GAT_PARAMETERS) {
  if (MetaTensors::active()) return forward_any(PLIMSOLL_GAT_ARGUMENTS);
  const c10::SymInt sources = x.sym_size(0);
  const c10::SymInt targets = att_target ? sources : target_score->sym_size(0);
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
          scores(sources),
          scores(targets),
          scores(targets),
          scores(targets)};
}

Eight backward_any(const at::Tensor& grad_out, const Optional& grad_alpha, PLIMSOLL_GAT_PARAMETERS,
                   const at::Tensor& z, const at::Tensor& s, const at::Tensor& t, const at::Tensor& highest,
                   const at::Tensor& scale, bool needs_x, bool needs_edge_attr) {
  const GatInputGradients made = gat_backward(
      grad_out, grad_alpha.value_or(at::Tensor()), tensors_of(PLIMSOLL_GAT_ARGUMENTS),
      {z, s, t, highest, scale, {}}, options_of(PLIMSOLL_ATTENTION_ARGUMENTS), needs_x, needs_edge_attr);
  const auto full = [&](const at::Tensor& tensor) { return or_empty(tensor, x); };
  return {full(made.x),          full(made.weight),       full(made.att_source),
          full(made.att_target), full(made.target_score), full(made.edge_attr),
          full(made.q),          full(made.bias)};
}

Eight backward_meta(const at::Tensor& grad_out, const Optional& grad_alpha, PLIMSOLL_GAT_PARAMETERS,
                    const at::Tensor& z, const at::Tensor& s, const at::Tensor& t, const at::Tensor& highest,
                    const at::Tensor& scale, bool needs_x, bool needs_edge_attr) {
  if (MetaTensors::active())
    return backward_any(grad_out, grad_alpha, PLIMSOLL_GAT_ARGUMENTS, z, s, t, highest, scale, needs_x,
                        needs_edge_attr);
  const auto like = [&](bool needed, const Optional& tensor) {
    return needed && tensor ? at::empty_symint(tensor->sym_sizes(), tensor->options())
                            : at::empty({0}, x.options());
  };
  return {like(needs_x, x),
          like(true, weight),
          like(true, att_source),
          like(true, att_target),
          like(!att_target.has_value(), target_score),
          like(needs_edge_attr, edge_attr),
          like(true, q),
          bias ? like(true, bias) : at::empty_symint({weight.sym_size(0)}, x.options())};
}

class GatFunction : public torch::autograd::Function<GatFunction> {
 public:
  static variable_list forward(AutogradContext* context, PLIMSOLL_GAT_PARAMETERS) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    static const auto forward_operator = find_operator<Forward>("plimsoll::gat");
    auto [out, alpha, z, s, t, highest, scale] = forward_operator.call(PLIMSOLL_GAT_ARGUMENTS);
    context->save_for_backward({x, weight, att_source, kept(att_target), kept(target_score), order,
                                kept(edge_attr), kept(q), kept(bias), kept(seed), kept(keys), z, s, t,
                                highest, scale});
    context->mark_non_differentiable({z, s, t, highest, scale});
    context->set_materialize_grads(false);  // Otherwise a zero gradient of the size of z would be allocated.
    save_options(context, options_of(PLIMSOLL_ATTENTION_ARGUMENTS));
    return {out, alpha, z, s, t, highest, scale};
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const variable_list v = context->get_saved_variables();
    const AttentionOptions options = saved_options(context);
    const at::Tensor grad_out = gradient_of_out(grads, v[0], v[1], v[13]);
    const bool has_alpha = options.return_attention && grads[1].defined();
    static const auto backward_operator = find_operator<Backward>("plimsoll::gat_backward");
    auto [dx, dweight, dsource, dtarget, dscore, dedge, dq, dbias] =
        backward_operator.call(grad_out, has_alpha ? Optional(grads[1]) : std::nullopt, v[0], v[1], v[2],
                               maybe(v[3]), maybe(v[4]), v[5], maybe(v[6]), maybe(v[7]), maybe(v[8]),
                               maybe(v[9]), maybe(v[10]), PLIMSOLL_ATTENTION_MEMBERS(options), v[11], v[12],
                               v[13], v[14], v[15], needs(context, v, 0), needs(context, v, 6));
    return gradients_of<11>(context, v,
                            {{dx, dweight, dsource, dtarget, dscore, at::Tensor(), dedge, dq, dbias}});
  }
};

Seven forward_autograd(PLIMSOLL_GAT_PARAMETERS) {
  const variable_list out = GatFunction::apply(PLIMSOLL_GAT_ARGUMENTS);
  return {out[0], out[1], out[2], out[3], out[4], out[5], out[6]};
}

Eight backward_autograd(const at::Tensor& grad_out, const Optional& grad_alpha, PLIMSOLL_GAT_PARAMETERS,
                        const at::Tensor& z, const at::Tensor& s, const at::Tensor& t,
                        const at::Tensor& highest, const at::Tensor& scale, bool needs_x,
                        bool needs_edge_attr) {
  static const auto backward_operator = find_operator<Backward>("plimsoll::gat_backward");
  Eight made = [&] {
    const at::AutoDispatchBelowADInplaceOrView guard;
    return backward_operator.call(grad_out, grad_alpha, PLIMSOLL_GAT_ARGUMENTS, z, s, t, highest, scale,
                                  needs_x, needs_edge_attr);
  }();
  refuse_second_derivatives(made, {grad_out, kept(grad_alpha), x, weight, att_source, kept(att_target),
                                   kept(target_score), kept(edge_attr), kept(q)});
  return made;
}

// Scores, and the tensors from which they are computed, stay float32.
template <c10::DeviceType kDevice>
Seven forward_autocast(PLIMSOLL_GAT_PARAMETERS) {
  const Autocast autocast(kDevice);
  static const auto forward_operator = find_operator<Forward>("plimsoll::gat");
  return forward_operator.call(autocast.low(x), autocast.low(weight), autocast.either(att_source),
                               autocast.either(att_target), autocast.either(target_score), order,
                               autocast.low(edge_attr), autocast.either(q), autocast.either(bias), seed, keys,
                               heads, slope, loops, fill, fill_value, dropout, keep_projection,
                               return_attention);
}

}  // namespace

std::pair<at::Tensor, at::Tensor> gat(const GatTensors& in, const AttentionOptions& options) {
  static const auto forward_operator = find_operator<Forward>("plimsoll::gat");
  const Seven made =
      forward_operator.call(in.x, in.weight, in.att_source, maybe(in.att_target), maybe(in.target_score),
                            in.order, maybe(in.edge_attr), maybe(in.q), maybe(in.bias), maybe(in.seed),
                            maybe(in.keys), PLIMSOLL_ATTENTION_MEMBERS(options));
  return {std::get<0>(made), std::get<1>(made)};
}

TORCH_LIBRARY_FRAGMENT(plimsoll, m) {
  m.def(
      "edge_order(Tensor edge_index, SymInt sources, SymInt targets, bool same_nodes, bool drop_loops, "
      "Tensor? ptr=None) -> Tensor");
  m.def("gat(" PLIMSOLL_GAT_SCHEMA
        ") -> (Tensor out, Tensor alpha, Tensor z, Tensor s, Tensor t, Tensor highest, Tensor scale)");
  m.def(
      "gat_backward(Tensor grad_out, Tensor? grad_alpha, " PLIMSOLL_GAT_SCHEMA
      ", Tensor z, Tensor s, Tensor t, Tensor highest, Tensor scale, bool needs_x, bool needs_edge_attr) -> "
      "(Tensor x, Tensor weight, Tensor att_source, Tensor att_target, Tensor target_score, Tensor "
      "edge_attr, "
      "Tensor q, Tensor bias)");
}
TORCH_LIBRARY_IMPL(plimsoll, CPU, m) {
  m.impl("edge_order", order_any);
}
TORCH_LIBRARY_IMPL(plimsoll, CUDA, m) {
  m.impl("edge_order", order_any);
}
TORCH_LIBRARY_IMPL(plimsoll, Meta, m) {
  m.impl("edge_order", order_meta);
}
PLIMSOLL_REGISTER_ATTENTION("gat")

}  // namespace plimsoll
