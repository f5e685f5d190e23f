#pragma once

#include <cstdint>

#include "base/units.h"

namespace plimsoll {

/// What the floor of a process with torch is made of, in anonymous bytes as measured.
struct FloorParts {
  int64_t program = 0;  ///< the program and torch, before anything is done
  int64_t threads = 0;  ///< what threads keep when they have been started
  int64_t blas = 0;     ///< rooms of the libraries that multiply, and what else the first operations set up
};

/// Gives torch one intra-op thread a worker, and has torch and its libraries set up, on `threads` threads,
/// what they keep for as long as they live, so that the floor of a budget that is measured afterwards holds
/// it.
FloorParts warm_up_torch(int threads);

/// What the process holds beyond floor and ledger: matrix products' own buffers, torch's nodes of the graph
/// of gradients, and what malloc loses between pieces. Measured at up to 2.2, 3.2 and 7.3 MiB with one, two
/// and four threads, on a model of 343,000 parameters. Set aside from the budget.
constexpr int64_t heap_slack(int threads) {
  return 2 * kMiB + int64_t{threads} * kMiB * 3 / 2;
}

}  // namespace plimsoll
