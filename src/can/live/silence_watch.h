#pragma once

#include <optional>

#include "can/profile/bus_silence.h"

namespace plimsoll {

/// A bus that was without any frame for too long.
struct Silence {
  int64_t since_ns = 0;  ///< time of the last frame
  int64_t time_ns = 0;   ///< when it was noticed: some ticks later
  float score = 0;       ///< doublings by which it is longer than any benign one
};

/// Judges empty time, tick by tick: windows are of frames, and a bus that falls silent has none. A silence is
/// told once. A bus that goes to sleep as in benign traffic is left alone (can/profile/bus_silence.h). Not
/// thread-safe.
class SilenceWatch {
 public:
  /// A score above `threshold` is told. Errors: UsageError for what never learned how long its bus is silent.
  SilenceWatch(const BusSilence& benign, const Vocabulary& vocabulary, int64_t tick_ns, float threshold);

  /// Frames in their order, up to the first that comes after a silence to be told, which is next to be asked
  /// for; returns how many. Frames that were taken already change nothing.
  int64_t add(const FrameSpans& frames, const std::vector<std::string>& channels);
  /// The silence until this time, if it is to be told now.
  std::optional<Silence> until(int64_t now_ns);

 private:
  bool is_due(int64_t now_ns) const;

  BusSilence benign_;
  const Vocabulary vocabulary_;
  int64_t told_after_ns_;  // a number of ticks
  float score_;            // then
  Recording recording_;    // channels of the frames
  HeardIds heard_;
  std::optional<int64_t> latest_ns_;
  bool told_ = false;
};

}  // namespace plimsoll
