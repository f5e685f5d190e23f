#pragma once

#include <cstdint>

#include "sample/topology/topology.h"

namespace plimsoll {

/// The relative chances of a neighbour x, of a walk from t by way of v.
struct WalkChances {
  double back = 1;  ///< x is t
  double near = 1;  ///< x is in the list of t
  double far = 1;   ///< any other
};

/// The neighbour of `at` to which a walk from `before` goes: of the list in its order, the first at which the
/// sum of chances reaches `uniform`, in (0, 1), of that of all. Of the lists of both nodes it reads the
/// shorter, and searches the other. `at` has neighbours; both lists ascend.
/// Errors: those of the topology; Interrupted.
int64_t choose_step(const Topology& topology, const WalkChances& chances, int64_t at, int64_t before,
                    double uniform);

}  // namespace plimsoll
