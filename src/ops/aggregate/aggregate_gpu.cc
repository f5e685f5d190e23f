#include "ops/aggregate/aggregate_gpu.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>

#include "kernels/aggregate/aggregate_gpu.h"
#include "memory/slab.h"
#include "ops/attention/attention.h"
#include "ops/attention/edge_order_gpu.h"
#include "ops/check.h"
#include "ops/device_layer.h"
#include "ops/numbers.h"
#include "ops/operator.h"

namespace plimsoll {
namespace {

using Tensor = at::Tensor;
using Count = std::optional<int64_t>;

// Checks an order, and returns the maximum number of edges that it can hold.
int64_t check_order(const Tensor& x, const Tensor& order, int64_t targets) {
  require_device_dtype(x);
  require(x.dim() == 2, "x f32 or f64 [S, F]", x);
  require(order.dim() == 1 && order.scalar_type() == at::kInt && order.is_contiguous() &&
              order.device() == x.device(),
          "order i32 on x's device", order);
  const int64_t edges = edges_of_order(order.numel(), targets);
  require(edges >= 0 && order.numel() == edge_order_size(targets, edges),
          "an order with this number of targets", order);
  return edges;
}

void check_scale(const Tensor& x, const Optional& scale, int64_t rows, const char* expected) {
  if (scale) require_like(x, *scale, {rows}, expected);
}

// The incoming edges of each row, as AggregateInput reads them.
struct EntriesOnDevice {
  Tensor ptr, index, edge;
};

void run_on_device(const Tensor& x, const EntriesOnDevice& entries, const Optional& entry_scale,
                   const Optional& edge_scale, const Optional& row_scale, const Tensor& out) {
  const CurrentDeviceScope device(x);
  const Tensor entry_scales = plain(entry_scale);
  const Tensor edge_scales = plain(edge_scale);
  const Tensor row_scales = plain(row_scale);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "aggregate_on_device", [&] {
    const AggregateInput<scalar_t> in = {
        .x = read<scalar_t>(x),
        .ptr = read<int32_t>(entries.ptr),
        .index = read<int32_t>(entries.index),
        .edge = entries.edge.defined() ? read<int32_t>(entries.edge) : nullptr,
        .entry_scale = read<scalar_t>(entry_scales),
        .edge_scale = read<scalar_t>(edge_scales),
        .row_scale = read<scalar_t>(row_scales),
        .features = x.size(1),
    };
    aggregate_cuda<scalar_t>(in, out.size(0), write<scalar_t>(out), device.stream());
  });
}

Tensor edges_of(const Tensor& order, int64_t targets, int64_t edges) {
  return order.narrow(0, kOrderHead + 2 * (targets + 1) + edges, edges);
}

}  // namespace

Tensor aggregate_on_device(const Tensor& input, const Tensor& order, const Optional& source_scale,
                           const Optional& target_scale, Count count, const Optional& edge_scale) {
  const int64_t targets = count.value_or(input.size(0));
  const int64_t edges = check_order(input, order, targets);
  check_scale(input, source_scale, input.size(0), "source_scale [S] of x's dtype");
  check_scale(input, target_scale, targets, "target_scale [T] of x's dtype");
  check_scale(input, edge_scale, edges, "edge_scale [E] of x's dtype, E as in the order");
  Tensor out = at::empty({targets, input.size(1)}, input.options());
  const WorkspaceScope workspace;
  const Tensor x = input.contiguous();
  const int64_t ptr = kOrderHead;
  run_on_device(x,
                {order.narrow(0, ptr, targets + 1), order.narrow(0, ptr + 2 * (targets + 1), edges),
                 edges_of(order, targets, edges)},
                source_scale, edge_scale, target_scale, out);
  return out;
}

Tensor aggregate_backward_on_device(const Tensor& grad, const Tensor& order, const Optional& source_scale,
                                    const Optional& target_scale, Count count, const Optional& edge_scale) {
  const int64_t sources = count.value_or(grad.size(0));
  const int64_t targets = grad.size(0);
  const int64_t edges = check_order(grad, order, targets);
  Tensor dx = at::empty({sources, grad.size(1)}, grad.options());
  const WorkspaceScope workspace;
  const Tensor dout = grad.contiguous();
  const DeviceOutEdges out = out_edges_on_device(order, sources, targets, edges);
  EntriesOnDevice entries{out.ptr, out.target, {}};
  // Positions in the order are replaced by indices of edges.
  if (edge_scale) entries.edge = edges_of(order, targets, edges).index_select(0, out.position);
  run_on_device(dout, entries, target_scale, edge_scale, source_scale, dx);
  return dx;
}

Tensor in_degrees_on_device(const Tensor& order, int64_t, int64_t targets) {
  Tensor degrees = at::empty({targets}, order.options().dtype(at::kFloat));
  const WorkspaceScope workspace;
  degrees.copy_(at::diff(order.narrow(0, kOrderHead, targets + 1)));
  return degrees;
}

}  // namespace plimsoll
