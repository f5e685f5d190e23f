#pragma once

#include <optional>

#include "can/profile/bus_silence.h"

namespace plimsoll {

/// A period without any frame on the bus that is too long.
struct Silence {
  int64_t since_ns = 0;  ///< Time of the last frame.
  int64_t time_ns = 0;   ///< since_ns plus the shortest number of ticks that is too long.
  float score = 0;       ///< log2((time_ns - since_ns) / BusSilence::longest_ns).
};

/// Evaluates silence tick by tick, because windows consist of frames and a silent bus has none. Each silence
/// is reported once. A bus that goes to sleep as in benign traffic is not reported
/// (can/profile/bus_silence.h). Not thread-safe.
class SilenceWatch {
 public:
  /// Reports scores above `threshold`. Errors: UsageError if the detector never learned how long its bus is
  /// silent.
  SilenceWatch(const BusSilence& benign, const Vocabulary& vocabulary, int64_t tick_ns, float threshold);

  /// Adds frames, in order, up to the first one after a silence that is to be reported, and returns the
  /// number of frames added. If that is less than all, call until() with the time of the next frame, then add
  /// the rest. Adding frames again has no effect.
  int64_t add(const FrameSpans& frames, const std::vector<std::string>& channels);
  /// Returns the silence that lasts until this time if it is to be reported now, and marks it as reported.
  std::optional<Silence> until(int64_t now_ns);

 private:
  bool is_due(int64_t now_ns) const;

  BusSilence benign_;
  const Vocabulary vocabulary_;
  int64_t reported_after_ns_;  // Longer silence is reported; a multiple of the tick.
  float score_;                // Score of a silence of that length.
  Recording recording_;        // Channels of the frames.
  HeardIds heard_;
  std::optional<int64_t> latest_ns_;
  bool reported_ = false;
};

}  // namespace plimsoll
