#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "memory/vector.h"
#include "sample/block/block.h"

namespace plimsoll {

/// Limits at which a block is closed. They are part of the recipe and never depend on the budget.
struct BlockLimits {
  int64_t graphs = 64;
  int64_t nodes = 4096;
  int64_t edges = 16384;
};

using GraphList = Vector<int64_t, Tag::columns>;

/// Graphs that are evaluated together.
struct NamedGraphList {
  std::string name;
  GraphList graphs;
};

/// Shuffles `graphs` in place: Fisher-Yates with Philox numbers keyed by (seed, epoch). The result is the
/// same on every machine.
void shuffle(std::span<int64_t> graphs, uint64_t seed, uint32_t epoch);

/// Cuts a list of graphs into blocks of consecutive entries. A block is closed before it would exceed a
/// limit; a graph larger than a limit is a block by itself. Returns the index in `graphs` at which each
/// block starts, followed by graphs.size().
GraphList cut_blocks(std::span<const int64_t> graphs, const GraphShapes& shapes, const BlockLimits& limits);
/// Returns the number of blocks that cut_blocks() makes. Allocates nothing.
int64_t count_blocks(std::span<const int64_t> graphs, const GraphShapes& shapes, const BlockLimits& limits);

}  // namespace plimsoll
