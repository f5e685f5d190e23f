#include "ops/gat/gat_gpu.h"

#include <ATen/Dispatch.h>

#include "kernels/attention/attention_gpu.h"
#include "ops/attention/edge_order_gpu.h"
#include "ops/device_layer.h"

namespace plimsoll {
namespace {

template <typename T>
Gat<T> layer_of(const GatTensors& in, const GatSaved& saved, const at::Tensor& z, const AttentionSizes& sizes,
                const AttentionOptions& options) {
  Gat<T> layer;
  fill_device_layer(layer, in, sizes, options);
  layer.z = read<T>(z);
  layer.q = read<T>(in.q);
  layer.s = read<T>(saved.s);
  layer.t = read<T>(saved.t);
  layer.highest = write<T>(saved.highest);
  layer.scale = write<T>(saved.scale);
  layer.alpha = write<T>(saved.alpha);
  return layer;
}

template <typename T>
GatScores<T> scores_of(const GatTensors& in) {
  GatScores<T> scores;
  scores.att_source = read<T>(in.att_source);
  scores.att_target = read<T>(in.att_target);
  return scores;
}

}  // namespace

void gat_forward_on_device(const GatTensors& in, const AttentionSizes& sizes, const AttentionOptions& options,
                           GatOutput& to) {
  require_device_dtype(in.x);
  const CurrentDeviceScope device(in.x);
  const at::Tensor z = project(in.x, in.weight, {}, to.saved.z);
  AT_DISPATCH_FLOATING_TYPES(in.x.scalar_type(), "gat_forward_on_device", [&] {
    Gat<scalar_t> layer = layer_of<scalar_t>(in, to.saved, z, sizes, options);
    layer.out = write<scalar_t>(to.out);
    gat_scores_cuda<scalar_t>(layer.z, scores_of<scalar_t>(in), sizes.heads, sizes.channels, sizes.sources,
                              write<scalar_t>(to.saved.s),
                              in.att_target.defined() ? write<scalar_t>(to.saved.t) : nullptr,
                              device.stream());
    const at::Tensor workspace = at::empty({gat_forward_workspace(layer)}, in.x.options());
    gat_forward_cuda<scalar_t>(layer, write<scalar_t>(workspace), device.stream());
  });
}

void gat_backward_on_device(const at::Tensor& grad_out, const at::Tensor& grad_alpha, const GatTensors& in,
                            const AttentionSizes& sizes, const GatSaved& saved,
                            const AttentionOptions& options, GatInputGradients& to) {
  require_device_dtype(in.x);
  const CurrentDeviceScope device(in.x);
  const auto empty = [&](at::IntArrayRef shape) { return at::empty(shape, in.x.options()); };
  const at::Tensor z = saved.z.size(0) == sizes.sources ? saved.z : project(in.x, in.weight, {}, {});
  const at::Tensor dz = empty({sizes.sources, sizes.width()});
  const at::Tensor ds = empty({sizes.sources, sizes.heads});
  const at::Tensor dt = to.target_score.defined() ? to.target_score : empty({sizes.targets, sizes.heads});
  const DeviceOutEdges edges = out_edges_on_device(in.order, sizes.sources, sizes.targets, sizes.edges);
  AT_DISPATCH_FLOATING_TYPES(in.x.scalar_type(), "gat_backward_on_device", [&] {
    const Gat<scalar_t> layer = layer_of<scalar_t>(in, saved, z, sizes, options);
    GatScores<scalar_t> scores = scores_of<scalar_t>(in);
    scores.source_gradient = write<scalar_t>(to.att_source);
    scores.target_gradient = write<scalar_t>(to.att_target);
    GatGradients<scalar_t> gradients;
    gradients.out = read<scalar_t>(grad_out);
    gradients.alpha = read<scalar_t>(grad_alpha);
    gradients.z = write<scalar_t>(dz);
    gradients.edge_attr = write<scalar_t>(to.edge_attr);
    gradients.bias = write<scalar_t>(to.bias);
    gradients.s = write<scalar_t>(ds);
    gradients.t = write<scalar_t>(dt);
    gradients.q = write<scalar_t>(to.q);
    const at::Tensor workspace = empty({gat_backward_workspace(layer)});
    gat_backward_cuda<scalar_t>(layer, gradients, scores, edges.view(), write<scalar_t>(workspace),
                                device.stream());
  });
  if (to.x.defined()) at::mm_out(to.x, dz, in.weight);
  at::mm_out(to.weight, dz.t(), in.x);
}

}  // namespace plimsoll
