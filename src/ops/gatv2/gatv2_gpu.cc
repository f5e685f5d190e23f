#include "ops/gatv2/gatv2_gpu.h"

#include <ATen/Dispatch.h>

#include "kernels/attention/attention_gpu.h"
#include "ops/attention/edge_order_gpu.h"
#include "ops/device_layer.h"

namespace plimsoll {
namespace {

template <typename T>
Gatv2<T> layer_of(const Gatv2Tensors& in, const Gatv2Saved& saved, const at::Tensor& z,
                  const at::Tensor& z_target, const AttentionSizes& sizes, const AttentionOptions& options) {
  Gatv2<T> layer;
  fill_device_layer(layer, in, sizes, options);
  layer.z = read<T>(z);
  layer.z_target = z_target.defined() ? read<T>(z_target) : layer.z;
  layer.edge_weight = read<T>(in.edge_weight);
  layer.att = read<T>(in.att);
  layer.highest = write<T>(saved.highest);
  layer.scale = write<T>(saved.scale);
  layer.alpha = write<T>(saved.alpha);
  return layer;
}

const at::Tensor& target_rows(const Gatv2Tensors& in) {
  return in.x_target.defined() ? in.x_target : in.x;
}

// Projects the targets; undefined if they share the weights of sources.
at::Tensor project_targets(const Gatv2Tensors& in, const at::Tensor& kept) {
  if (!in.target_weight.defined()) return {};
  return project(target_rows(in), in.target_weight, in.target_bias, kept);
}

}  // namespace

void gatv2_forward_on_device(const Gatv2Tensors& in, const AttentionSizes& sizes,
                             const AttentionOptions& options, Gatv2Output& to) {
  require_device_dtype(in.x);
  const CurrentDeviceScope device(in.x);
  const at::Tensor z = project(in.x, in.weight, in.weight_bias, to.saved.z);
  const at::Tensor z_target = project_targets(in, to.saved.z_target);
  AT_DISPATCH_FLOATING_TYPES(in.x.scalar_type(), "gatv2_forward_on_device", [&] {
    Gatv2<scalar_t> layer = layer_of<scalar_t>(in, to.saved, z, z_target, sizes, options);
    layer.out = write<scalar_t>(to.out);
    const at::Tensor workspace = at::empty({gatv2_forward_workspace(layer)}, in.x.options());
    gatv2_forward_cuda<scalar_t>(layer, write<scalar_t>(workspace), device.stream());
  });
}

void gatv2_backward_on_device(const at::Tensor& grad_out, const at::Tensor& grad_alpha,
                              const Gatv2Tensors& in, const AttentionSizes& sizes, const Gatv2Saved& saved,
                              const AttentionOptions& options, Gatv2InputGradients& to) {
  require_device_dtype(in.x);
  const CurrentDeviceScope device(in.x);
  const auto empty = [&](at::IntArrayRef shape) { return at::empty(shape, in.x.options()); };
  const bool kept = saved.z.size(0) == sizes.sources;
  const at::Tensor z = kept ? saved.z : project(in.x, in.weight, in.weight_bias, {});
  const at::Tensor z_target = kept && in.target_weight.defined() ? saved.z_target : project_targets(in, {});
  const at::Tensor dz = empty({sizes.sources, sizes.width()});
  const at::Tensor dz_target = in.target_weight.defined() ? empty({sizes.targets, sizes.width()}) : dz;
  const DeviceOutEdges edges = out_edges_on_device(in.order, sizes.sources, sizes.targets, sizes.edges);
  AT_DISPATCH_FLOATING_TYPES(in.x.scalar_type(), "gatv2_backward_on_device", [&] {
    const Gatv2<scalar_t> layer = layer_of<scalar_t>(in, saved, z, z_target, sizes, options);
    Gatv2Gradients<scalar_t> gradients;
    gradients.out = read<scalar_t>(grad_out);
    gradients.alpha = read<scalar_t>(grad_alpha);
    gradients.z = write<scalar_t>(dz);
    gradients.edge_attr = write<scalar_t>(to.edge_attr);
    gradients.bias = write<scalar_t>(to.bias);
    gradients.z_target = write<scalar_t>(dz_target);
    gradients.edge_weight = write<scalar_t>(to.edge_weight);
    gradients.att = write<scalar_t>(to.att);
    const at::Tensor workspace = empty({gatv2_backward_workspace(layer)});
    gatv2_backward_cuda<scalar_t>(layer, gradients, edges.view(), write<scalar_t>(workspace),
                                  device.stream());
  });
  if (to.x.defined()) at::mm_out(to.x, dz, in.weight);
  at::mm_out(to.weight, dz.t(), in.x);
  if (in.weight_bias.defined()) at::sum_out(to.weight_bias, dz, 0);
  if (!in.target_weight.defined()) return;
  at::mm_out(to.target_weight, dz_target.t(), target_rows(in));
  if (in.target_bias.defined()) at::sum_out(to.target_bias, dz_target, 0);
  if (in.x_target.defined())
    at::mm_out(to.x_target, dz_target, in.target_weight);
  else if (to.x.defined())
    to.x.addmm_(dz_target, in.target_weight);
}

}  // namespace plimsoll
