#pragma once

#include <cstdint>

namespace plimsoll {

/// Unknown CAN IDs as evidence of their own (docs/distillation.md, ID dropout): what a graph that holds one,
/// though its vehicle is known, has added to its log-odds of an attack.
inline constexpr float kUnknownIdEvidence = 100.0F;  // above what a classifier says either way

/// Whether a graph holds an unknown ID though more than a fifth of its IDs are known: ID dropout makes graphs
/// that have fewer.
constexpr bool is_stranger_among_known(int64_t ids, int64_t unknown) {
  return unknown > 0 && 5 * (ids - unknown) > ids;
}

/// Whether so few of a graph's IDs are known that it is of another vehicle than the one they are known of.
constexpr bool is_another_vehicle(int64_t ids, int64_t unknown) {
  return unknown > 0 && !is_stranger_among_known(ids, unknown);
}

}  // namespace plimsoll
