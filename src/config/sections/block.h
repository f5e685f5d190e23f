#pragma once

#include <cstdint>

#include "base/words.h"
#include "config/checks.h"

namespace plimsoll {

enum class BlockPreset : uint8_t { cpu, gpu };
template <>
inline constexpr auto kWords<BlockPreset> = std::to_array<std::string_view>({"cpu", "gpu"});

/// The maximum sizes of a block: `graphs`, `nodes` and `edges` or, for one giant graph, only `seeds`. A
/// larger graph is a block by itself.
struct BlockSection {
  BlockPreset preset = BlockPreset::cpu;
  int64_t graphs = 64;
  int64_t nodes = 4096;
  int64_t edges = 16384;
  int64_t seeds = 128;
};

/// Sets the preset and all sizes.
void apply_preset(BlockSection& block, BlockPreset preset);

template <EitherOf<BlockSection> Section, typename Visit>
void visit_keys(Section& block, Visit&& visit) {
  visit("preset", block.preset, Preset<Section>{block});
  visit("graphs", block.graphs, kCount);
  visit("nodes", block.nodes, kCount);
  visit("edges", block.edges, kCount);
  visit("seeds", block.seeds, kCount);
}

}  // namespace plimsoll
