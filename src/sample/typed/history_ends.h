#pragma once

#include <cstdint>

#include "sample/typed/task_seeds.h"

namespace plimsoll {

/// The end of each seed's history: the latest time of a row that the seed may see.
///
/// A seed sees rows up to its own time, but none after `last_time`. The lag of a seed is the time between the
/// end of its history and the seed. If training seeds are lagged, each of their samples has the lag of a
/// random seed; each seed of the other splits is equally likely. A model then learns from histories that end
/// as early as those of the seeds that it will be evaluated on. Times of other splits are used for this, but
/// none of their labels or rows.
///
/// For the same data set, a drawn lag is a function of (seed of the run, sample, entity and time of the
/// seed). Thread-safe.
class HistoryEnds {
 public:
  struct Options {
    int64_t last_time = 0;  ///< No seed sees a row after this time.
    bool lagged = false;    ///< Whether training seeds are lagged.
    uint64_t seed = 0;      ///< Seed of the draws.
  };
  /// `seeds` must outlive this object. All times are in nanoseconds since 1970-01-01.
  HistoryEnds(const TaskSeeds& seeds, const Options& options);

  /// Returns the end of the history of a sample of a seed. Samples are counted from 0.
  int64_t end(int64_t seed, uint32_t sample) const;
  /// Returns whether training seeds have lags other than 0.
  bool has_lags() const { return has_lags_; }

 private:
  int64_t own_end(int64_t seed) const;
  int64_t drawn_lag(int64_t seed, uint32_t sample) const;

  const TaskSeeds& seeds_;
  const Options options_;
  TaskSeeds::Split training_;
  bool has_lags_ = false;
};

}  // namespace plimsoll
