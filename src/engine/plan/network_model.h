#pragma once

#include <cstdint>
#include <string_view>

#include "engine/plan/memory_plan.h"

namespace plimsoll {

/// Parses the speed of a network link, such as "25Gb", "400Mb/s" or "1.5Gb": a number, one of K, M, G and T
/// (powers of 1000), and b for bits per second. Returns bytes per second. Errors: UsageError that lists the
/// accepted forms.
double parse_link_speed(std::string_view text);

/// A network that connects all ranks, as a user describes it.
struct Network {
  double bytes_per_s = 0;  ///< Bandwidth of one rank, in each direction at the same time.
  /// Seconds from sending a small message to its arrival. The default was measured between two processes that
  /// do nothing else (bench/results/ranks.md).
  double message_s = 60e-6;
};

/// The time of a training run on several ranks, estimated from its plan.
struct RankSpeed {
  int64_t steps = 0;        ///< Steps of an epoch.
  double compute_s = 0;     ///< Seconds in which a rank computes its part of a step; 0: unknown.
  double exchange_s = 0;    ///< Seconds in which the ranks exchange the results of a step.
  double graphs_per_s = 0;  ///< Training graphs or blocks of all ranks per second; 0: unknown.
  double of_perfect = 0;    ///< Speed divided by that of as many ranks without a network; 0: unknown.
};

/// Returns the estimate T(R) = W / R + M (R - 1) o + R l + S / b of bench/results/ranks.md for a step: W are
/// the seconds of one process, M = 3 messages go to each of the other ranks, the chain that computes the norm
/// has R messages, o = l is the time of a message, S are the bytes that a rank sends, and b is the bandwidth.
/// Assumes that each rank computes as fast as the process of the plan, that blocks divide evenly, that
/// computing and exchanging do not overlap, and that data is read in time.
RankSpeed estimate_rank_speed(const MemoryPlan& plan, const Network& network);

}  // namespace plimsoll
