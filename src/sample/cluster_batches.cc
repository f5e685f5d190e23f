#include "sample/cluster_batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "sample/batches.h"
#include "sample/subgraph_types.h"

namespace plimsoll {

ClusterBatches::ClusterBatches(const Topology& topology, std::span<const int32_t> parts,
                               int64_t parts_per_batch, uint64_t seed)
    : topology_(topology), parts_per_batch_(parts_per_batch), seed_(seed) {
  if (static_cast<int64_t>(parts.size()) != topology.nodes() || parts_per_batch < 1)
    throw UsageError(
        fmt::format("clusters: found the parts of {} nodes and {} parts a batch, expected those of {} nodes "
                    "and 1 or more",
                    parts.size(), parts_per_batch, topology.nodes()));
  const auto least = std::min_element(parts.begin(), parts.end());
  if (least != parts.end() && *least < 0)
    throw UsageError(
        fmt::format("clusters: found part {} of node {}, expected 0 or more", *least, least - parts.begin()));
  const int32_t last = parts.empty() ? -1 : *std::max_element(parts.begin(), parts.end());
  part_ptr_.assign(static_cast<size_t>(last) + 2, 0);
  for (const int32_t part : parts) ++part_ptr_[static_cast<size_t>(part) + 1];
  std::partial_sum(part_ptr_.begin(), part_ptr_.end(), part_ptr_.begin());
  nodes_.resize(parts.size());
  Vector<int64_t, Tag::columns> next(part_ptr_);
  for (size_t node = 0; node < parts.size(); ++node)
    nodes_[static_cast<size_t>(next[static_cast<size_t>(parts[node])]++)] = static_cast<int64_t>(node);
}

void ClusterBatches::read(int64_t batch, uint32_t epoch, SampledSubgraph& out) const {
  GraphList order(static_cast<size_t>(parts()));
  std::iota(order.begin(), order.end(), int64_t{0});
  shuffle(order, seed_, epoch);
  Vector<int64_t, Tag::blocks> nodes;
  const int64_t first = batch * parts_per_batch_;
  for (int64_t i = first; i < std::min(first + parts_per_batch_, parts()); ++i) {
    const auto part = static_cast<size_t>(order[static_cast<size_t>(i)]);
    nodes.insert(nodes.end(), nodes_.begin() + part_ptr_[part], nodes_.begin() + part_ptr_[part + 1]);
  }
  induced_subgraph(topology_, nodes, out);
}

}  // namespace plimsoll
