#pragma once

#include <cstdint>

namespace plimsoll {

/// Evidence of unknown CAN IDs (docs/distillation.md, ID dropout): this value is added to a graph's log-odds
/// of an attack if the graph holds an unknown ID although its vehicle is known.
inline constexpr float kUnknownIdEvidence = 100.0F;  // Larger than any classifier's log-odds.

/// Whether a graph holds an unknown ID although more than a fifth of its IDs are known. ID dropout makes
/// graphs in which fewer IDs are known.
constexpr bool is_stranger_among_known(int64_t ids, int64_t unknown) {
  return unknown > 0 && 5 * (ids - unknown) > ids;
}

/// Whether so few of a graph's IDs are known that it belongs to another vehicle.
constexpr bool is_another_vehicle(int64_t ids, int64_t unknown) {
  return unknown > 0 && !is_stranger_among_known(ids, unknown);
}

}  // namespace plimsoll
