#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "can/profile/behaviour_profile.h"
#include "can/windows/windows.h"

namespace plimsoll {

/// The windows on which a vehicle is calibrated, ascending: the first windows of a recording that hold no
/// frame labelled 1. There are at most `max`, and at most a third of all windows of the recording.
Vector<int64_t, Tag::columns> calibration_windows(const WindowSource& windows, const GraphRange& recording,
                                                  int64_t max);

/// The calibration windows from which a fold's profile is learned: a part of `windows`. The second half
/// excludes the `gap` windows that follow the first half. Of a single window the first half is empty, and the
/// second half is the window.
std::span<const int64_t> learned_in_fold(std::span<const int64_t> windows, CalibrationFold fold, int64_t gap);

/// Calibration windows, ascending, and the `gap` windows after each in the same recording, which may share
/// frames with it.
Vector<int64_t, Tag::columns> with_gaps(std::span<const int64_t> calibration,
                                        std::span<const GraphRange> recordings, int64_t gap);

/// Runs of consecutive frames, at most one per window.
using FrameRuns = Vector<FrameWindow, Tag::columns>;

/// The frames of these windows of one recording, ascending, in runs without a gap. Windows without frames are
/// left out. `recording` must outlive the result.
FrameRuns runs_of(const FramesView& frames, const WindowSource& source, const Recording& recording,
                  std::span<const int64_t> windows);

/// Returns the profile of the frames in `windows`, windows of one recording in ascending order; null if they
/// hold no frames.
std::shared_ptr<const BehaviourProfile> calibrated_profile(const FramesView& frames,
                                                           const WindowSource& source,
                                                           const Recording& recording,
                                                           std::span<const int64_t> windows);

}  // namespace plimsoll
