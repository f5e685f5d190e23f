#include "ops/neighbour_attention/neighbour_attention.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "kernels/neighbour_attention/neighbour_attention.h"
#include "memory/slab.h"
#include "ops/attention/attention.h"
#include "ops/check.h"
#include "ops/numbers.h"

namespace plimsoll {
namespace {

constexpr int64_t kTargetsOfThread = 256;

void check(const NeighbourAttentionTensors& in, int64_t heads) {
  const at::Tensor& key = in.key;
  require(key.dim() == 2 && (key.scalar_type() == at::kFloat || key.scalar_type() == at::kDouble) &&
              key.is_contiguous() && heads > 0 && key.size(1) % heads == 0,
          "key f32 or f64 [S, H*D]", key);
  if (in.value.defined()) require_like(key, in.value, key.sizes(), "value [S, H*D] of key's dtype");
  require(in.query.dim() == 2, "query [T, H*D]", in.query);
  require_like(key, in.query, {in.query.size(0), key.size(1)}, "query [T, H*D] of key's dtype");
  if (in.att.defined()) require_like(key, in.att, {heads, key.size(1) / heads}, "att [H, D] of key's dtype");
  require(in.order.dim() == 1 && in.order.scalar_type() == at::kInt && in.order.is_contiguous(), "order i32",
          in.order);
}

template <typename T>
NeighbourAttention<T> layer_of(const NeighbourAttentionTensors& in, const NeighbourAttentionOutput& results,
                               int64_t heads, double slope) {
  const int64_t targets = in.query.size(0);
  NeighbourAttention<T> layer;
  layer.order = view_edge_order(in.order.const_data_ptr<int32_t>(), in.order.numel(), in.key.size(0), targets,
                                std::max<int64_t>(edges_of_order(in.order.numel(), targets), 0));
  layer.heads = heads;
  layer.channels = in.key.size(1) / heads;
  layer.slope = static_cast<T>(slope);
  layer.key = read<T>(in.key);
  layer.value = in.value.defined() ? read<T>(in.value) : layer.key;
  layer.query = read<T>(in.query);
  layer.att = read<T>(in.att);
  layer.out = write<T>(results.out);
  layer.log_sum = write<T>(results.log_sum);
  return layer;
}

at::Tensor zeros_of(const at::Tensor& input) {
  return input.defined() ? at::zeros(input.sizes(), input.options()) : at::Tensor();
}

at::Tensor without_gaps(const at::Tensor& gradient) {
  return gradient.defined() ? gradient.contiguous() : at::Tensor();
}

}  // namespace

NeighbourAttentionOutput neighbour_attention_forward(const NeighbourAttentionTensors& in, int64_t heads,
                                                     double slope) {
  const NeighbourAttentionOutput results = {at::empty(in.query.sizes(), in.query.options()),
                                            at::empty({in.query.size(0), heads}, in.query.options())};
  check(in, heads);
  AT_DISPATCH_FLOATING_TYPES(in.key.scalar_type(), "neighbour_attention", [&] {
    const auto layer = layer_of<scalar_t>(in, results, heads, slope);
    at::parallel_for(0, in.query.size(0), kTargetsOfThread, [&](int64_t begin, int64_t end) {
      neighbour_attention_kernels<scalar_t>(kernel_level()).forward(layer, begin, end);
    });
  });
  return results;
}

NeighbourAttentionInputGradients neighbour_attention_backward(const at::Tensor& grad_out,
                                                              const at::Tensor& grad_log_sum,
                                                              const NeighbourAttentionTensors& in,
                                                              const NeighbourAttentionOutput& saved,
                                                              int64_t heads, double slope) {
  const NeighbourAttentionInputGradients gradients = {zeros_of(in.key), zeros_of(in.value),
                                                      zeros_of(in.query), zeros_of(in.att)};
  const WorkspaceScope workspace;
  const at::Tensor dout = without_gaps(grad_out);
  const at::Tensor dlog_sum = without_gaps(grad_log_sum);
  if (in.key.is_meta()) return gradients;
  check(in, heads);
  require_like(in.key, dout, in.query.sizes(), "the gradient of out [T, H*D]");
  if (dlog_sum.defined())
    require_like(in.key, dlog_sum, {in.query.size(0), heads}, "the gradient of log_sum [T, H]");
  AT_DISPATCH_FLOATING_TYPES(in.key.scalar_type(), "neighbour_attention_backward", [&] {
    const auto layer = layer_of<scalar_t>(in, saved, heads, slope);
    NeighbourAttentionGradients<scalar_t> to;
    to.out = read<scalar_t>(dout);
    to.log_sum = read<scalar_t>(dlog_sum);
    to.key = write<scalar_t>(gradients.key);
    to.value = in.value.defined() ? write<scalar_t>(gradients.value) : to.key;
    to.query = write<scalar_t>(gradients.query);
    to.att = write<scalar_t>(gradients.att);
    at::parallel_for(0, heads, 1, [&](int64_t begin, int64_t end) {
      neighbour_attention_kernels<scalar_t>(kernel_level()).backward(layer, to, begin, end);
    });
  });
  return gradients;
}

}  // namespace plimsoll
