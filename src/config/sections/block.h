#pragma once

#include <cstdint>

#include "base/words.h"
#include "config/checks.h"

namespace plimsoll {

enum class BlockPreset : uint8_t { cpu, gpu };
template <>
inline constexpr auto kWords<BlockPreset> = std::to_array<std::string_view>({"cpu", "gpu"});

/// The maximum sizes of a block.
struct BlockSection {
  BlockPreset preset = BlockPreset::cpu;
  int64_t graphs = 64;
  int64_t nodes = 4096;
  int64_t edges = 16384;
  int64_t seeds = 128;  ///< Maximum number of seeds, for one giant graph.
};

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
