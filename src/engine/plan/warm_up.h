#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/units.h"

namespace plimsoll {

/// The parts of the floor of a process with torch, in measured anonymous bytes.
struct FloorParts {
  int64_t program = 0;  ///< The program and torch, before they do anything.
  int64_t threads = 0;  ///< Memory that threads keep after they are started.
  int64_t blas = 0;     ///< BLAS buffers, and other memory that the first operations allocate.
};

/// Gives torch one intra-op thread per worker. Makes torch and its libraries allocate, on `threads` threads,
/// all memory that they keep for their lifetime, so that the floor of a budget measured afterwards includes
/// it. Call it once, before the first operation of torch. Errors: ThreadRefused.
FloorParts warm_up_torch(int threads);

/// Returns the value of blas_bytes() (engine/plan/blas_memory.h) at the end of warm_up_torch(), which the
/// floor includes; 0 before that.
int64_t warm_blas_bytes();

/// Memory of the process beyond floor and ledger: nodes of the graph of gradients, tensor objects,
/// memory that malloc loses between pieces, and the used stacks of threads. It is set aside from the budget
/// once, and heap_slack_per_block() for each block in flight; the planner measures BLAS buffers itself.
/// Measured with one block in flight: 0.05 MiB for 45 tensors at a time, 0.6 MiB for 250
/// (bench/results/contract.md), and 0.23 MiB per block with an autoencoder.
constexpr int64_t kHeapSlack = 640 * kKiB;

/// Returns the slack for a block whose pass has up to `tensors` tensors in its plan. kHeapSlack holds the
/// objects of the second 128 tensors of one block.
inline int64_t heap_slack_per_block(size_t tensors) {
  constexpr size_t kOfTensor = 1280, kFirst = 128, kInSlack = 128;
  const size_t more = tensors - std::min(tensors, kFirst + kInSlack);
  return static_cast<int64_t>((std::min(tensors, kFirst) + 2 * more) * kOfTensor);
}

/// Returns the slack for the objects of `parameters` parameters: their tensors, those of their sums of
/// gradients and of the optimizer's state, and their names in a checkpoint. kHeapSlack holds those of the
/// first 64. Measured with models of linked tables, which have hundreds (bench/results/relational.md).
inline int64_t heap_slack_of_parameters(size_t parameters) {
  constexpr size_t kOfParameter = 3584, kInSlack = 64;
  return static_cast<int64_t>((parameters - std::min(parameters, kInSlack)) * kOfParameter);
}

}  // namespace plimsoll
