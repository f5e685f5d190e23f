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

/// What a collection of made recordings holds.
struct SimulateResult {
  bool already_there = false;  ///< the output held just this: nothing was done
  int64_t recordings = 0;
  int64_t frames = 0;
  int64_t attack_frames = 0;
  int64_t left_out = 0;      ///< recordings that nothing was injected into
  int64_t not_periodic = 0;  ///< of them, those that lack nothing but a periodic ID
};

/// Gets frames done and in all.
using SimulateProgress = std::function<void(int64_t, int64_t)>;

/// Takes recordings from sources to a sink in pieces, and counts. Not thread-safe. Errors: those of the sink.
class Transfer {
 public:
  /// `sink` and `progress` must outlive it; `expected`: frames in all.
  Transfer(RecordingSink& sink, int64_t expected, const SimulateProgress& progress)
      : sink_(sink), expected_(expected), progress_(progress) {}

  /// At most `most` frames; the rest of the source is left.
  void recording(FrameSource& source, int64_t max, const Recording& recording);
  const SimulateResult& result() const { return result_; }

 private:
  RecordingSink& sink_;
  int64_t expected_;
  const SimulateProgress& progress_;
  FrameBatch batch_;
  SimulateResult result_;
};

/// What is at the output already, if it is just what would be written. Errors: those of is_made_already().
std::optional<SimulateResult> find_output(const std::filesystem::path& out, bool force,
                                          const Json& provenance,
                                          const std::vector<std::filesystem::path>& sources,
                                          const WillHold& will_hold = {});

}  // namespace plimsoll
