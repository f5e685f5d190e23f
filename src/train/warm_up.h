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

/// What blas_bytes() (ops/blas_memory.h) was when that ended, and the floor holds; 0 before.
int64_t warm_blas_bytes();

/// What the process holds beyond floor and ledger: nodes of the graph of gradients, heads of tensors, what
/// malloc loses between pieces, and the stacks of threads as far as they are used. Set aside from the budget,
/// once and for each block in flight; rooms of the libraries that multiply are measured by the planner.
/// Measured at 0.2 to 0.6 MiB with one block in flight and for each more up to 0.13 MiB of a classifier
/// (bench/results/contract.md), 0.23 MiB of an autoencoder.
constexpr int64_t kHeapSlack = 640 * kKiB;
constexpr int64_t kHeapSlackPerBlock = 256 * kKiB;

}  // namespace plimsoll
