#include "engine/fit/edge_distances.h"

#include <bit>
#include <cmath>

#include "base/interrupt.h"
#include "memory/c_heap.h"

namespace plimsoll {
namespace {

// Calls take(bits) for the distance of each edge that is not a self-loop. Distances are not negative, so
// their bits have the same order as their values.
template <typename Take>
void each_distance(const BlockSource& source, const GraphList& graphs, const Take& take) {
  GraphBlock block;
  for (const int64_t graph : graphs) {
    throw_if_interrupted("distances along edges were measured");
    source.read(std::span(&graph, 1), block);
    for (size_t e = 0; e < block.edges.size(); e += 2) {
      const int32_t from = block.edges[e];
      const int32_t to = block.edges[e + 1];
      if (from == to) continue;
      double square = 0;
      for (int64_t axis = 0; axis < kCoordinates; ++axis) {
        const double difference = double{block.pos[static_cast<size_t>(kCoordinates * from + axis)]} -
                                  double{block.pos[static_cast<size_t>(kCoordinates * to + axis)]};
        square += difference * difference;
      }
      take(std::bit_cast<uint32_t>(static_cast<float>(std::sqrt(square))));
    }
  }
}

// Finds the half-word of the value with the given rank, counted from 0. `rank` becomes the rank among the
// values with that half-word.
uint32_t find_half(const Vector<int64_t, Tag::columns>& counts, int64_t& rank) {
  uint32_t half = 0;
  while (rank >= counts[half]) rank -= counts[half++];
  return half;
}

}  // namespace

std::optional<float> distance_percentile(const BlockSource& source, const GraphList& graphs, double share) {
  constexpr size_t kHalves = size_t{1} << 16;
  Vector<int64_t, Tag::columns> counts(kHalves, 0);
  int64_t edges = 0;
  each_distance(source, graphs, [&](uint32_t bits) {
    ++counts[bits >> 16];
    ++edges;
  });
  if (edges == 0) return std::nullopt;
  int64_t rank = static_cast<int64_t>(std::ceil(share * static_cast<double>(edges))) - 1;
  const uint32_t high = find_half(counts, rank);
  counts.assign(kHalves, 0);
  each_distance(source, graphs, [&](uint32_t bits) { counts[bits & 0xFFFF] += bits >> 16 == high; });
  const uint32_t low = find_half(counts, rank);
  counts = {};
  give_back_freed_memory();
  return std::bit_cast<float>(high << 16 | low);
}

}  // namespace plimsoll
