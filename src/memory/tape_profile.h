#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "memory/tape.h"

namespace plimsoll {

/// Which modules of a model hold the bytes of a tape, and when.
struct TapeProfile {
  /// Bytes held at the peak by module, the largest first; their sum is the peak. What belongs to no module is
  /// "".
  std::vector<std::pair<std::string, int64_t>> at_peak;
  int64_t peak = 0;
  std::string operation;   ///< that comes to the peak
  int32_t peak_event = 0;  ///< number of the event
  int32_t events = 0;

  /// What is held over the tape, thinned to a few points; each is the highest of its stretch of events, so
  /// that the peak is one of them. The modules that hold most at the peak one by one, and last all others as
  /// "others".
  std::vector<std::string> modules;
  std::vector<int32_t> at;                   ///< events of the points
  std::vector<std::vector<int64_t>> series;  ///< [modules][points]
};

/// `bytes`: of each piece. `points`: at most; `max_modules`: that the timeline tells apart.
TapeProfile profile_tape(const Tape& tape, const std::vector<int64_t>& bytes, size_t points = 240,
                         size_t max_modules = 6);

}  // namespace plimsoll
