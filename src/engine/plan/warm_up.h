#pragma once

#include <algorithm>
#include <cstddef>
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

/// What blas_bytes() (engine/plan/blas_memory.h) was when that ended, and the floor holds; 0 before.
int64_t warm_blas_bytes();

/// What the process holds beyond floor and ledger: nodes of the graph of gradients, heads of tensors, what
/// malloc loses between pieces, and the stacks of threads as far as they are used. Set aside from the budget,
/// once and for each block in flight; rooms of the libraries that multiply are measured by the planner.
/// Measured with one block in flight at 0.05 MiB for 45 tensors at once and 0.6 MiB for 250
/// (bench/results/contract.md), with an autoencoder at 0.23 MiB a block.
constexpr int64_t kHeapSlack = 640 * kKiB;

/// Of a block whose pass has up to `tensors` tensors in its plan.
inline int64_t heap_slack_per_block(size_t tensors) {
  constexpr size_t kOfTensor = 1280;
  return static_cast<int64_t>(std::min<size_t>(tensors * kOfTensor, 160 * kKiB));
}

}  // namespace plimsoll
