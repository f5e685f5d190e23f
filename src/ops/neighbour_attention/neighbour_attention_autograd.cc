#include <ATen/Functions.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "ops/meta_tensors.h"
#include "ops/neighbour_attention/neighbour_attention.h"
#include "ops/operator.h"

namespace plimsoll {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Tensor = at::Tensor;
using AttentionPair = std::tuple<Tensor, Tensor>;
using AttentionGradients = std::tuple<Tensor, Tensor, Tensor, Tensor>;
using NeighbourSignature = AttentionPair(const Tensor& key, const Optional& value, const Tensor& query,
                                         const Tensor& order, const Optional& att, int64_t heads,
                                         double slope);
using NeighbourBackwardSignature = AttentionGradients(const Tensor& grad_out, const Optional& grad_log_sum,
                                                      const Tensor& key, const Optional& value,
                                                      const Tensor& query, const Tensor& order,
                                                      const Optional& att, const Tensor& out,
                                                      const Tensor& log_sum, int64_t heads, double slope);

NeighbourAttentionTensors neighbour_tensors_of(const Tensor& key, const Optional& value, const Tensor& query,
                                               const Tensor& order, const Optional& att) {
  return {.key = key, .value = kept(value), .query = query, .order = order, .att = kept(att)};
}

AttentionPair neighbour_attention_any(const Tensor& key, const Optional& value, const Tensor& query,
                                      const Tensor& order, const Optional& att, int64_t heads, double slope) {
  const auto results =
      neighbour_attention_forward(neighbour_tensors_of(key, value, query, order, att), heads, slope);
  return {results.out, results.log_sum};
}

AttentionGradients neighbour_attention_backward_any(const Tensor& grad_out, const Optional& grad_log_sum,
                                                    const Tensor& key, const Optional& value,
                                                    const Tensor& query, const Tensor& order,
                                                    const Optional& att, const Tensor& out,
                                                    const Tensor& log_sum, int64_t heads, double slope) {
  const auto gradients = neighbour_attention_backward(grad_out, kept(grad_log_sum),
                                                      neighbour_tensors_of(key, value, query, order, att),
                                                      {out, log_sum}, heads, slope);
  return {gradients.key, or_empty(gradients.value, key), gradients.query, or_empty(gradients.att, key)};
}

// Shapes may be symbolic here.
AttentionPair neighbour_attention_meta(const Tensor&, const Optional&, const Tensor& query, const Tensor&,
                                       const Optional&, int64_t heads, double) {
  return {at::empty_symint(query.sym_sizes(), query.options()),
          at::empty_symint({query.sym_size(0), heads}, query.options())};
}

AttentionGradients neighbour_attention_backward_meta(const Tensor& grad_out, const Optional& grad_log_sum,
                                                     const Tensor& key, const Optional& value,
                                                     const Tensor& query, const Tensor& order,
                                                     const Optional& att, const Tensor& out,
                                                     const Tensor& log_sum, int64_t heads, double slope) {
  if (MetaTensors::active())
    return neighbour_attention_backward_any(grad_out, grad_log_sum, key, value, query, order, att, out,
                                            log_sum, heads, slope);
  const auto like = [&](const Optional& input) {
    return input ? at::empty_symint(input->sym_sizes(), input->options()) : at::empty({0}, key.options());
  };
  return {like(key), like(value), like(query), like(att)};
}

class NeighbourAttentionFunction : public torch::autograd::Function<NeighbourAttentionFunction> {
 public:
  static variable_list forward(AutogradContext* context, const Tensor& key, const Optional& value,
                               const Tensor& query, const Tensor& order, const Optional& att, int64_t heads,
                               double slope) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    static const auto op = find_operator<NeighbourSignature>("plimsoll::neighbour_attention");
    auto [out, log_sum] = op.call(key, value, query, order, att, heads, slope);
    context->save_for_backward({key, kept(value), query, order, kept(att), out, log_sum});
    context->set_materialize_grads(false);  // A gradient of log_sum that nobody needs is not allocated.
    context->saved_data["heads"] = heads;
    context->saved_data["slope"] = slope;
    return {out, log_sum};
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const variable_list v = context->get_saved_variables();
    static const auto op =
        find_operator<NeighbourBackwardSignature>("plimsoll::neighbour_attention_backward");
    const Tensor grad_out = grads[0].defined() ? grads[0] : at::zeros_like(v[5]);
    auto [key, value, query, att] =
        op.call(grad_out, maybe(grads[1]), v[0], maybe(v[1]), v[2], v[3], maybe(v[4]), v[5], v[6],
                context->saved_data["heads"].toInt(), context->saved_data["slope"].toDouble());
    const Tensor none;
    return {key, v[1].defined() ? value : none, query, none, v[4].defined() ? att : none, none, none};
  }
};

AttentionPair neighbour_attention_autograd(const Tensor& key, const Optional& value, const Tensor& query,
                                           const Tensor& order, const Optional& att, int64_t heads,
                                           double slope) {
  const variable_list results =
      NeighbourAttentionFunction::apply(key, value, query, order, att, heads, slope);
  return {results[0], results[1]};
}

AttentionGradients neighbour_attention_backward_autograd(const Tensor& grad_out, const Optional& grad_log_sum,
                                                         const Tensor& key, const Optional& value,
                                                         const Tensor& query, const Tensor& order,
                                                         const Optional& att, const Tensor& out,
                                                         const Tensor& log_sum, int64_t heads, double slope) {
  AttentionGradients gradients = [&] {
    const at::AutoDispatchBelowADInplaceOrView guard;
    static const auto op =
        find_operator<NeighbourBackwardSignature>("plimsoll::neighbour_attention_backward");
    return op.call(grad_out, grad_log_sum, key, value, query, order, att, out, log_sum, heads, slope);
  }();
  refuse_second_derivatives(gradients, {grad_out, kept(grad_log_sum), key, kept(value), query, kept(att)});
  return gradients;
}

}  // namespace

NeighbourAttentionOutput neighbour_attention(const NeighbourAttentionTensors& in, int64_t heads,
                                             double slope) {
  static const auto op = find_operator<NeighbourSignature>("plimsoll::neighbour_attention");
  auto [out, log_sum] = op.call(in.key, maybe(in.value), in.query, in.order, maybe(in.att), heads, slope);
  return {out, log_sum};
}

TORCH_LIBRARY_FRAGMENT(plimsoll, m) {
  m.def(
      "neighbour_attention(Tensor key, Tensor? value, Tensor query, Tensor order, Tensor? att, int heads, "
      "float slope) -> (Tensor out, Tensor log_sum)");
  m.def(
      "neighbour_attention_backward(Tensor grad_out, Tensor? grad_log_sum, Tensor key, Tensor? value, Tensor "
      "query, Tensor order, Tensor? att, Tensor out, Tensor log_sum, int heads, float slope) -> (Tensor key, "
      "Tensor value, Tensor query, Tensor att)");
}
TORCH_LIBRARY_IMPL(plimsoll, CPU, m) {
  m.impl("neighbour_attention", neighbour_attention_any);
  m.impl("neighbour_attention_backward", neighbour_attention_backward_any);
}
TORCH_LIBRARY_IMPL(plimsoll, Meta, m) {
  m.impl("neighbour_attention", neighbour_attention_meta);
  m.impl("neighbour_attention_backward", neighbour_attention_backward_meta);
}
TORCH_LIBRARY_IMPL(plimsoll, Autograd, m) {
  m.impl("neighbour_attention", neighbour_attention_autograd);
  m.impl("neighbour_attention_backward", neighbour_attention_backward_autograd);
}

}  // namespace plimsoll
