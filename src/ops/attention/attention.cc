#include "ops/attention/attention.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>

#include "base/error.h"
#include "memory/slab.h"
#include "ops/attention/edge_order_gpu.h"
#include "ops/check.h"
#include "ops/device_bytes.h"
#include "ops/meta_tensors.h"

namespace plimsoll {

at::Tensor edge_order(const at::Tensor& edge_index, int64_t sources, int64_t targets, bool same_nodes,
                      bool drop_loops, const at::Tensor& ptr) {
  require(edge_index.scalar_type() == at::kLong && edge_index.dim() == 2 && edge_index.size(0) == 2,
          "edge_index i64 [2, E]", edge_index);
  if (sources < 0 || targets < 0 || (same_nodes && sources != targets))
    throw UsageError(
        fmt::format("edge_order: found {} sources and {} targets, expected 0 or more of each, and equal "
                    "numbers with same_nodes",
                    sources, targets));
  // The check precedes the allocation; the error of make_edge_order() names the counts.
  if (std::max({edge_index.size(1), sources, targets}) >= std::numeric_limits<int32_t>::max())
    throw UsageError(fmt::format("found {} edges between {} and {} nodes, expected at most 2^31 - 2 of each",
                                 edge_index.size(1), sources, targets));
  std::span<const int64_t> graphs;
  if (ptr.defined()) {
    require(ptr.dim() == 1 && ptr.scalar_type() == at::kLong && ptr.numel() > 0 && ptr.is_contiguous() &&
                ptr.device() == edge_index.device() && same_nodes,
            "ptr i64 [G + 1] on edge_index's device, and only if sources and targets are the same nodes",
            ptr);
    if (ptr.is_cpu()) graphs = {ptr.const_data_ptr<int64_t>(), static_cast<size_t>(ptr.numel())};
  }
  if (!edge_index.is_cpu() && !edge_index.is_meta())
    return sorted_edge_order(edge_index, sources, targets, drop_loops);
  const int64_t edges = edge_index.size(1);
  const at::Tensor order = at::empty({edge_order_size(targets, edges)}, edge_index.options().dtype(at::kInt));
  const WorkspaceScope workspace;
  // The rows are made contiguous one by one, so that the first edges of a longer edge_index need no copy.
  const at::Tensor source = edge_index.select(0, 0).contiguous();
  const at::Tensor target = edge_index.select(0, 1).contiguous();
  if (order.is_meta()) {
    if (MetaTensors::on_cuda()) ask_for_workspace(order, edge_order_device_workspace(targets, edges), 0);
    return order;
  }
  make_edge_order(source.const_data_ptr<int64_t>(), target.const_data_ptr<int64_t>(), edges, sources, targets,
                  same_nodes, drop_loops, order.mutable_data_ptr<int32_t>(), graphs);
  return order;
}

}  // namespace plimsoll
