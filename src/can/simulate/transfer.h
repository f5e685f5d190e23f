#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "can/simulate/frame_source.h"
#include "can/simulate/recording_sink.h"
#include "store/output.h"

namespace plimsoll {

/// The size of a collection of generated recordings.
struct SimulateResult {
  bool already_there = false;  ///< The output was up to date, so nothing was done.
  int64_t recordings = 0;
  int64_t frames = 0;
  int64_t attack_frames = 0;
  int64_t left_out = 0;      ///< Recordings of the set that received no attack. 0 if nothing was done.
  int64_t not_periodic = 0;  ///< Recordings left out only because they lack a periodic ID.
};

/// Called with the number of frames written so far and the total.
using SimulateProgress = std::function<void(int64_t, int64_t)>;

/// Copies recordings from sources to a sink in blocks, and counts them and their frames. Not thread-safe.
/// Errors: those of the sink.
class Transfer {
 public:
  /// `sink` and `progress`, which must not be null, must outlive it. `expected` is the total number of frames
  /// for `progress`.
  Transfer(RecordingSink& sink, int64_t expected, const SimulateProgress& progress)
      : sink_(sink), expected_(expected), progress_(progress) {}

  /// Copies a recording of at most `max` frames. The rest of the source is not read.
  void recording(FrameSource& source, int64_t max, const Recording& recording);
  const SimulateResult& result() const { return result_; }

 private:
  RecordingSink& sink_;
  int64_t expected_;
  const SimulateProgress& progress_;
  FrameBatch batch_;
  SimulateResult result_;
};

/// Returns the counts of the `frames` set at `out` if it equals the one to be written, otherwise none.
/// Errors: those of is_made_already().
std::optional<SimulateResult> find_output(const std::filesystem::path& out, bool force,
                                          const Json& provenance,
                                          const std::vector<std::filesystem::path>& sources,
                                          const WillHold& will_hold = {});

}  // namespace plimsoll
