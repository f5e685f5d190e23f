#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "memory/tape.h"

namespace plimsoll {

/// Bytes of a tape by module of the model, at the peak and over time.
struct TapeProfile {
  /// Bytes held at the peak by module, the largest first. Their sum is the peak. "" stands for bytes of no
  /// module.
  std::vector<std::pair<std::string, int64_t>> at_peak;
  int64_t peak = 0;
  std::string operation;   ///< Operation that reaches the peak.
  int32_t peak_event = 0;  ///< Index of the event that reaches the peak.
  int32_t events = 0;

  /// Modules of the timeline `series`: those that hold the most bytes at the peak, then all remaining ones as
  /// "others". The timeline is reduced to a few points. Each is the maximum of its stretch of events, so the
  /// peak is one of them.
  std::vector<std::string> modules;
  std::vector<int32_t> at;                   ///< Events of the points.
  std::vector<std::vector<int64_t>> series;  ///< [modules][points]
};

/// Returns the profile of a tape. `bytes` has the size of each piece. `points` is the maximum number of
/// points; `max_modules` is the maximum number of modules shown separately. A tape that never holds a byte
/// gives no modules and no points.
TapeProfile profile_tape(const Tape& tape, const std::vector<int64_t>& bytes, size_t points = 240,
                         size_t max_modules = 6);

}  // namespace plimsoll
