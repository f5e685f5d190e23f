#include "ingest/graph/node_keys.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/error.h"
#include "sample/partition/stream_partition.h"
#include "sample/topology/disk_topology.h"
#include "sample/topology/list_stream.h"

namespace plimsoll {
namespace {

constexpr std::array<float, 3> kFanOuts = {15, 10, 5};
constexpr int64_t kPartNodes = 16384;
constexpr int64_t kNodesPerTick = int64_t{1} << 14;

NodeKeys by_frequency(const Topology& topology, const std::function<void()>& tick) {
  const auto nodes = static_cast<size_t>(topology.nodes());
  const auto tick_at = [&](int64_t node) {
    if (node % kNodesPerTick == 0) tick();
  };
  Vector<uint32_t, Tag::columns> degrees(nodes, 0);
  stream_lists(
      topology,
      [&](int64_t node, std::span<const int64_t> neighbours) {
        degrees[static_cast<size_t>(node)] += static_cast<uint32_t>(neighbours.size());
      },
      tick_at);
  // Expected number of samples that contain each node at this hop.
  Vector<float, Tag::columns> samples(nodes, 1);
  Vector<float, Tag::columns> next(nodes, 0);
  Vector<float, Tag::columns> sum(nodes, 0);
  for (const float fan_out : kFanOuts) {
    std::ranges::fill(next, 0.0F);
    stream_lists(
        topology,
        [&](int64_t node, std::span<const int64_t> neighbours) {
          const auto at = static_cast<size_t>(node);
          const float each = samples[at] * std::min(1.0F, fan_out / static_cast<float>(degrees[at]));
          for (const int64_t neighbour : neighbours) next[static_cast<size_t>(neighbour)] += each;
        },
        tick_at);
    std::swap(samples, next);
    for (size_t node = 0; node < nodes; ++node) sum[node] += samples[node];
  }
  // The bits of non-negative floats sort like the floats.
  for (size_t node = 0; node < nodes; ++node) degrees[node] = ~std::bit_cast<uint32_t>(sum[node]);
  return degrees;
}

NodeKeys by_partition(const Topology& topology, const std::function<void()>& tick) {
  if (topology.nodes() == 0) return {};
  const int64_t parts_wanted = (topology.nodes() + kPartNodes - 1) / kPartNodes;
  const Parts parts = stream_partition(topology, {.parts = parts_wanted, .tick = tick});
  return NodeKeys(parts.begin(), parts.end());
}

}  // namespace

NodeKeys node_keys(NodeOrderKind order, const std::filesystem::path& graph, int64_t memory,
                   const std::function<void()>& tick) {
  const GraphView view(graph);
  DiskTopology topology(view);
  topology.resize(std::clamp(memory, topology.min_bytes(), topology.max_bytes()));
  return order == NodeOrderKind::partition ? by_partition(topology, tick) : by_frequency(topology, tick);
}

}  // namespace plimsoll
