#pragma once

#include <cstdint>
#include <span>

#include "engine/data/curriculum.h"
#include "engine/data/resampling.h"
#include "sample/block/batches.h"

namespace plimsoll {

/// The graphs of each epoch and their order. Thread-safe.
struct EpochOrder {
  std::span<const int64_t> training;       ///< Must outlive the order.
  const Curriculum* curriculum = nullptr;  ///< If null, all graphs are used in every epoch.
  uint64_t seed = 0;                       ///< Seed for the shuffling of every epoch.
  /// Whether each epoch has its own graphs, in their given order. `training` then has the graphs of the first
  /// epoch, and the graphs of later epochs have the indices that follow (sample/seeds/seed_blocks.h).
  bool fresh = false;
  Resampling resampling = {};  ///< How shuffled graphs differ by epoch.

  /// Whether the graphs of all epochs are known before the run.
  bool known() const { return curriculum == nullptr || curriculum->known(); }
  /// Writes the graphs of an epoch, counted from 1; if these are not known yet, all of `training`. The
  /// memory of `graphs` is reused.
  void graphs_of(int64_t epoch, GraphList& graphs) const;
};

}  // namespace plimsoll
