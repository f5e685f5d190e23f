#include "sample/partition/cluster_batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "memory/vector.h"
#include "sample/block/batches.h"
#include "sample/neighbour/subgraph_types.h"

namespace plimsoll {

ClusterBatches::ClusterBatches(const Topology& topology, std::span<const int32_t> parts,
                               int64_t parts_per_batch, uint64_t seed)
    : topology_(topology), parts_per_batch_(parts_per_batch), seed_(seed), nodes_(parts, topology.nodes()) {
  if (parts_per_batch < 1)
    throw UsageError(fmt::format("clusters: found {} parts a batch, expected 1 or more", parts_per_batch));
}

void ClusterBatches::read(int64_t batch, uint32_t epoch, SampledSubgraph& out) const {
  GraphList order(static_cast<size_t>(parts()));
  std::iota(order.begin(), order.end(), int64_t{0});
  shuffle(order, seed_, epoch);
  Vector<int64_t, Tag::blocks> nodes;
  const int64_t first = batch * parts_per_batch_;
  for (int64_t i = first; i < std::min(first + parts_per_batch_, parts()); ++i) {
    const std::span<const int64_t> part = nodes_[order[static_cast<size_t>(i)]];
    nodes.insert(nodes.end(), part.begin(), part.end());
  }
  induced_subgraph(topology_, nodes, out);
}

}  // namespace plimsoll
