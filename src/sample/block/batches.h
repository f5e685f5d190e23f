#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "memory/vector.h"
#include "sample/block/block.h"

namespace plimsoll {

/// The limits at which a block closes: part of the recipe, never of the budget.
struct BlockLimits {
  int64_t graphs = 64;
  int64_t nodes = 4096;
  int64_t edges = 16384;
};

using GraphList = Vector<int64_t, Tag::columns>;

/// Graphs that are judged together.
struct NamedGraphList {
  std::string name;
  GraphList graphs;
};

/// Shuffles `graphs` in place: Fisher-Yates with Philox numbers keyed by (seed, epoch). Equal on every
/// machine.
void shuffle(std::span<int64_t> graphs, uint64_t seed, uint32_t epoch);

/// Cuts a list of graphs into blocks of consecutive entries: a block closes before it would exceed a limit; a
/// graph larger than the limits is a block by itself. Returns where blocks begin, with graphs.size() at the
/// end.
GraphList cut_blocks(std::span<const int64_t> graphs, std::span<const GraphShape> shapes,
                     const BlockLimits& limits);
/// How many blocks that makes. Allocates nothing.
int64_t count_blocks(std::span<const int64_t> graphs, std::span<const GraphShape> shapes,
                     const BlockLimits& limits);

}  // namespace plimsoll
