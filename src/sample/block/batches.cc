#include "sample/block/batches.h"

#include <algorithm>
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

namespace {

// Decides where each block starts.
class Cutter {
 public:
  explicit Cutter(const BlockLimits& limits) : limits_(limits) {}

  bool add(const GraphShape& shape) {
    const bool begins = graphs_ == 0 || graphs_ + 1 > limits_.graphs ||
                        nodes_ + shape.nodes > limits_.nodes || edges_ + shape.edges > limits_.edges;
    if (begins) graphs_ = nodes_ = edges_ = 0;
    ++graphs_;
    nodes_ += shape.nodes;
    edges_ += shape.edges;
    return begins;
  }

 private:
  const BlockLimits& limits_;
  // Number of graphs in the current block; the members below count their nodes and edges.
  int64_t graphs_ = 0;
  int64_t nodes_ = 0;
  int64_t edges_ = 0;
};

}  // namespace

GraphList cut_blocks(std::span<const int64_t> graphs, const GraphShapes& shapes, const BlockLimits& limits) {
  GraphList begins;
  Cutter cutter(limits);
  for (size_t i = 0; i < graphs.size(); ++i)
    if (cutter.add(shapes[graphs[i]])) begins.push_back(static_cast<int64_t>(i));
  begins.push_back(static_cast<int64_t>(graphs.size()));
  return begins;
}

int64_t count_blocks(std::span<const int64_t> graphs, const GraphShapes& shapes, const BlockLimits& limits) {
  Cutter cutter(limits);
  return std::ranges::count_if(graphs, [&](int64_t g) { return cutter.add(shapes[g]); });
}

}  // namespace plimsoll
