#pragma once

#include <cstdint>
#include <span>

#include "engine/data/curriculum.h"
#include "sample/block/batches.h"

namespace plimsoll {

/// The graphs of each epoch and their order. Thread-safe.
struct EpochOrder {
  std::span<const int64_t> training;       ///< Must outlive the order.
  const Curriculum* curriculum = nullptr;  ///< If null, every epoch trains on all graphs.
  uint64_t seed = 0;                       ///< Seed for the shuffling of every epoch.
  /// Each epoch has its own graphs, in their given order: `training` are those of the first epoch, and those
  /// of later epochs are numbered from there on (sample/seeds/seed_blocks.h).
  bool fresh = false;

  /// Whether epochs are known before the run.
  bool known() const { return curriculum == nullptr || curriculum->known(); }
  /// Writes the graphs of an epoch, counted from 1, to memory that is used again. If the epoch is not known
  /// yet, these are all of `training`.
  void graphs_of(int64_t epoch, GraphList& graphs) const;
};

}  // namespace plimsoll
