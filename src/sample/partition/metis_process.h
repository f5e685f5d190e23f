#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "sample/topology/symmetric_graph.h"

namespace plimsoll {

/// Runs METIS_PartGraphKway on `graph` in a child process, fills `part_of` [V] and returns how much weight is
/// cut; none where METIS needs more than `bytes` of memory of its own, which the kernel then refuses it
/// (RLIMIT_DATA). 2 parts at least; `slack` is the imbalance that METIS aims at, 0 or more.
///
/// A child, because METIS draws from the random numbers of the C library, which all threads share, handles
/// SIGABRT and SIGTERM of the whole process, prints, and may end the process it is in. Pages that other
/// threads write meanwhile are copied; one that is within rand() when the child begins leaves it waiting. The
/// same bits for the same graph and options. Thread-safe. Errors: Failure where METIS cannot be loaded, fails
/// or is killed.
std::optional<int64_t> run_metis(const SymmetricGraph& graph, int32_t parts, double slack, int64_t bytes,
                                 std::span<int32_t> part_of);

}  // namespace plimsoll
