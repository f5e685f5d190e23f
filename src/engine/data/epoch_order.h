#pragma once

#include <cstdint>
#include <span>

#include "engine/data/curriculum.h"
#include "sample/block/batches.h"

namespace plimsoll {

/// Which graphs an epoch trains on, and in which order. Thread-safe.
struct EpochOrder {
  std::span<const int64_t> training;       ///< must outlive it
  const Curriculum* curriculum = nullptr;  ///< none: every epoch trains on all
  uint64_t seed = 0;                       ///< of the shuffling of every epoch
  /// Each epoch has graphs of its own, which come as they are: `training` are those of the first, and those
  /// of each later one are numbered on from there (sample/seeds/seed_blocks.h).
  bool fresh = false;

  /// Whether epochs are known before the run.
  bool known() const { return curriculum == nullptr || curriculum->known(); }
  /// Those of an epoch, counted from 1, into memory that is used again. Where they are not known, all of
  /// `training`.
  void graphs_of(int64_t epoch, GraphList& graphs) const;
};

}  // namespace plimsoll
