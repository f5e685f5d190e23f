#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "sample/topology/symmetric_graph.h"

namespace plimsoll {

/// Runs METIS_PartGraphKway on `graph` in a child process, fills `part_of` [V] and returns the weight of the
/// cut edges. Returns nullopt if METIS itself needs more than `bytes` of memory, which the kernel limits
/// (RLIMIT_DATA); `part_of` is then undefined. `parts` is at least 2; `slack` is the imbalance that METIS
/// aims at, 0 or more. `tick` is called several times per second; if it throws, METIS is killed.
///
/// A child process is used for these reasons: METIS draws random numbers from the generator of the C library,
/// which all threads share; it handles SIGABRT and SIGTERM of the whole process; it prints; and it may end
/// its process. Pages that other threads write meanwhile are copied. If a thread is inside rand() when the
/// child starts, the child waits forever. The result is the same for the same graph and options. Thread-safe.
/// Errors: Failure if METIS cannot be loaded, fails or is killed; those of `tick`.
std::optional<int64_t> run_metis(
    const SymmetricGraph& graph, int32_t parts, double slack, int64_t bytes, std::span<int32_t> part_of,
    const std::function<void()>& tick = [] {});

}  // namespace plimsoll
