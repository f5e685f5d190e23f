#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "kernels/aggregate/aggregate_gpu.h"
#include "memory/slab.h"
#include "ops/attention/edge_order_gpu.h"
#include "ops/device_layer.h"
#include "ops/embedding/embedding.h"
#include "ops/numbers.h"

namespace plimsoll {

at::Tensor embedding_backward_on_device(const at::Tensor& grad, const at::Tensor& ids, int64_t rows) {
  require_device_dtype(grad);
  require(grad.dim() == 2, "grad [N, F]", grad);
  require(ids.dim() == 1 && ids.scalar_type() == at::kLong && ids.numel() == grad.size(0) &&
              ids.device() == grad.device(),
          "ids i64 [N] on grad's device", ids);
  const int64_t nodes = ids.numel();
  if (std::max(nodes, rows) >= std::numeric_limits<int32_t>::max())
    throw UsageError(fmt::format("embedding: {} ids of {} rows: up to 2^31 - 2 of each", nodes, rows));
  at::Tensor dweight = at::empty({rows, grad.size(1)}, grad.options());
  const WorkspaceScope workspace;
  // Copied even if it has one row and is contiguous, because plans know only counts.
  const at::Tensor dout = grad.clone(at::MemoryFormat::Contiguous);
  // Nodes sorted by id are edges sorted by source if every edge leads from an id to the same target.
  const at::Tensor source = ids.to(at::kInt);
  const at::Tensor in_ptr = at::empty({2}, source.options());
  in_ptr[0].fill_(0);
  in_ptr[1].fill_(nodes);
  const DeviceOutEdges by_id = out_edges_on_device(EdgeOrder{.sources = rows,
                                                             .targets = 1,
                                                             .edges = nodes,
                                                             .in_ptr = read<int32_t>(in_ptr),
                                                             .source = read<int32_t>(source)},
                                                   source.options());
  const CurrentDeviceScope device(grad);
  AT_DISPATCH_FLOATING_TYPES(grad.scalar_type(), "embedding_backward_on_device", [&] {
    const AggregateInput<scalar_t> in = {.x = read<scalar_t>(dout),
                                         .ptr = read<int32_t>(by_id.ptr),
                                         .index = read<int32_t>(by_id.position),
                                         .features = grad.size(1)};
    aggregate_cuda<scalar_t>(in, rows, write<scalar_t>(dweight), device.stream());
  });
  return dweight;
}

}  // namespace plimsoll
