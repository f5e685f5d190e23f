#pragma once

#include "base/words.h"

namespace plimsoll {

/// The edges that paths of three edges use.
enum class PathDirection : uint8_t {
  both,        ///< Edges as they are stored. If a graph stores both directions of each edge, both are used.
  ancestor,    ///< Each edge once, from its higher to its lower node: towards the root.
  descendant,  ///< Each edge once, from its lower to its higher node, however it is stored: away from the
               ///< root if parents are numbered before their children.
};
template <>
inline constexpr auto kWords<PathDirection> = std::to_array<std::string_view>({"both", "ancestor",
                                                                               "descendant"});

/// `reference` is the layer as in SGMP's code: it expands torsions from -pi to pi in Gaussians on [0, 2 pi],
/// and has one path (i, i, i, i) per node, whose lengths and angles are 0. `corrected` has no such paths, and
/// uses a periodic basis for torsions: n functions exp((cos(phi - 2 pi m / n) - 1) / (2 pi / n)^2).
enum class PathMode : uint8_t { corrected, reference };
template <>
inline constexpr auto kWords<PathMode> = std::to_array<std::string_view>({"corrected", "reference"});

}  // namespace plimsoll
