#include "sample/batches.h"

#include <utility>

#include "base/philox.h"

namespace plimsoll {

void shuffle(std::span<int64_t> graphs, uint64_t seed, uint32_t epoch) {
  const Philox philox(seed);
  for (size_t i = graphs.size(); i > 1; --i) {
    const auto item = static_cast<uint32_t>(i);
    const Philox::Counter bits = philox(philox_counter(Purpose::permutation, 0, epoch, item, 0));
    // The remainder favours small values by less than i / 2^64.
    const auto pick = static_cast<size_t>((uint64_t{bits[0]} << 32 | bits[1]) % i);
    std::swap(graphs[i - 1], graphs[pick]);
  }
}

GraphList cut_blocks(std::span<const int64_t> graphs, std::span<const GraphShape> shapes,
                     const BlockLimits& limits) {
  GraphList begins{0};
  int64_t nodes = 0;
  int64_t edges = 0;
  for (size_t i = 0; i < graphs.size(); ++i) {
    const GraphShape& shape = shapes[static_cast<size_t>(graphs[i])];
    const int64_t held = static_cast<int64_t>(i) - begins.back();
    const bool full =
        held + 1 > limits.graphs || nodes + shape.nodes > limits.nodes || edges + shape.edges > limits.edges;
    if (held > 0 && full) {
      begins.push_back(static_cast<int64_t>(i));
      nodes = 0;
      edges = 0;
    }
    nodes += shape.nodes;
    edges += shape.edges;
  }
  if (!graphs.empty()) begins.push_back(static_cast<int64_t>(graphs.size()));
  return begins;
}

}  // namespace plimsoll
