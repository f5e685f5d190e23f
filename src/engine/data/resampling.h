#pragma once

#include <cstdint>

namespace plimsoll {

/// How graphs that are samples differ from epoch to epoch. The graphs of an epoch have numbers that are
/// higher by `period` than those of the epoch before (BoundedGraphs::period), for the first `samples` epochs;
/// then the numbers start again. With one sample, all epochs train on the same graphs.
struct Resampling {
  int64_t period = 0;
  int64_t samples = 1;

  /// Returns what is added to the numbers of graphs in an epoch, counted from 1.
  int64_t offset(int64_t epoch) const { return (epoch - 1) % samples * period; }
};

}  // namespace plimsoll
