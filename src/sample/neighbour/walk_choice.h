#pragma once

#include <cstdint>

#include "sample/topology/topology.h"

namespace plimsoll {

/// Relative chances of a neighbour x for a walk that came from t to v.
struct WalkChances {
  double back = 1;  ///< x is t.
  double near = 1;  ///< x is in the list of t.
  double far = 1;   ///< Any other x.
};

/// Returns the neighbour of `at` to which a walk that came from `before` continues: the first neighbour in
/// list order at which the cumulative chance reaches `uniform` times the total, for `uniform` in (0, 1).
/// Reads the shorter of the two nodes' lists, and searches the other. `at` must have neighbours, and both
/// lists must ascend. Errors: those of the topology; Interrupted.
int64_t choose_step(const Topology& topology, const WalkChances& chances, int64_t at, int64_t before,
                    double uniform);

}  // namespace plimsoll
