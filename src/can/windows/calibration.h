#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "can/profile/behaviour_profile.h"
#include "can/windows/windows.h"

namespace plimsoll {

/// The first windows of a recording that hold no frame labelled 1, ascending: what its vehicle is calibrated
/// on. At most `most`, and at most a third of all windows of the recording.
Vector<int64_t, Tag::columns> calibration_windows(const WindowSource& windows, const GraphRange& recording,
                                                  int64_t max);

/// The part of them that a fold's profile is learned from: of the second half without those of the `gap`
/// windows that follow the first half.
std::span<const int64_t> learned_in_fold(std::span<const int64_t> windows, CalibrationFold fold, int64_t gap);

/// Calibration windows, ascending, and of the recording of each the `gap` windows after it, which may share
/// frames with it.
Vector<int64_t, Tag::columns> with_gaps(std::span<const int64_t> calibration,
                                        std::span<const GraphRange> recordings, int64_t gap);

/// As many as there are windows, at most.
using FrameRuns = Vector<FrameWindow, Tag::columns>;

/// The frames of these windows of a recording, ascending, in runs without a gap.
FrameRuns runs_of(const FramesView& frames, const WindowSource& source, const Recording& recording,
                  std::span<const int64_t> windows);

/// The profile of the frames of these windows of a recording, ascending; null for no windows.
std::shared_ptr<const BehaviourProfile> calibrated_profile(const FramesView& frames,
                                                           const WindowSource& source,
                                                           const Recording& recording,
                                                           std::span<const int64_t> windows);

}  // namespace plimsoll
