#include "ops/attention/edge_order_gpu.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "kernels/edge_order.h"
#include "kernels/out_edges/out_edges_gpu.h"
#include "ops/device_layer.h"

namespace plimsoll {
namespace {

// Returns the index in `sorted` of the first entry of each of the nodes 0 .. nodes-1, followed by the end.
at::Tensor places(const at::Tensor& sorted, int64_t nodes) {
  return at::searchsorted(sorted, at::arange(nodes + 1, sorted.options()), /*out_int32=*/true);
}

void check_index(const at::Tensor& source, const at::Tensor& target, int64_t sources, int64_t targets) {
  const int64_t edges = source.numel();
  if (std::max({edges, sources, targets}) >= std::numeric_limits<int32_t>::max())
    throw UsageError(fmt::format("found {} edges between {} and {} nodes, expected at most 2^31 - 2 of each",
                                 edges, sources, targets));
  const auto outside = [](const at::Tensor& index, int64_t nodes) {
    return index.lt(0).logical_or(index.ge(nodes)).any();
  };
  if (outside(source, sources).logical_or(outside(target, targets)).item<bool>())
    throw InputError(fmt::format(
        "found an edge with a node that does not exist, expected edges from {} sources to {} targets",
        sources, targets));
}

}  // namespace

at::Tensor sorted_edge_order(const at::Tensor& edge_index, int64_t sources, int64_t targets,
                             bool drop_loops) {
  const at::Tensor source = edge_index.select(0, 0);
  const at::Tensor target = edge_index.select(0, 1);
  const int64_t edges = edge_index.size(1);
  check_index(source, target, sources, targets);
  // Self-loops that are left out are sorted to the end, after all targets.
  const at::Tensor key = drop_loops ? target.masked_fill(source.eq(target), targets) : target;
  const auto [sorted, edge] = at::sort(key.to(at::kInt), /*stable=*/true, 0, /*descending=*/false);
  const at::Tensor in_ptr = places(sorted, targets);

  const at::Tensor order = at::empty({edge_order_size(targets, edges)}, edge_index.options().dtype(at::kInt));
  const auto head = edge_order_head(sources, targets, edges, 0, 0);
  order.narrow(0, 0, kOrderHead).copy_(at::tensor(at::ArrayRef<int32_t>(head), at::kInt));
  order.narrow(0, kOrderKept, 1).copy_(in_ptr.narrow(0, targets, 1));
  if (targets > 0) order.select(0, kOrderMaxIn).copy_(at::diff(in_ptr).max());
  int64_t at = kOrderHead;
  order.narrow(0, at, targets + 1).copy_(in_ptr);
  at += targets + 1;
  const at::Tensor pieces = order.narrow(0, at, targets + 1).zero_();
  if (targets > 0) pieces.select(0, 1).fill_(targets);
  at += targets + 1;
  order.narrow(0, at, edges).copy_(source.index_select(0, edge));
  order.narrow(0, at + edges, edges).copy_(edge);
  return order;
}

DeviceOutEdges out_edges_on_device(const at::Tensor& order, int64_t sources, int64_t targets, int64_t edges) {
  return out_edges_on_device(view_device_order(read<int32_t>(order), sources, targets, edges),
                             order.options());
}

DeviceOutEdges out_edges_on_device(const EdgeOrder& order, const at::TensorOptions& numbers) {
  const auto make = [&](int64_t count) { return at::empty({count}, numbers); };
  const DeviceOutEdges out{make(order.sources + 1), make(order.edges), make(order.edges),
                           at::empty({out_edges_buffer_bytes(order.edges)}, numbers.dtype(at::kByte))};
  const CurrentDeviceScope device(out.buffer);
  out_edges_cuda(order, write<int32_t>(out.ptr), write<int32_t>(out.position), write<int32_t>(out.target),
                 reinterpret_cast<int32_t*>(write<uint8_t>(out.buffer)), device.stream());
  return out;
}

}  // namespace plimsoll
