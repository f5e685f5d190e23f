#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "can/frames/frames.h"
#include "can/windows/windows.h"
#include "memory/vector.h"

namespace plimsoll {

/// The ends of a source's windows and the starts of attacks in them, for detection delay. Frames are counted
/// from the first frame of the data set.
struct WindowTimes {
  Vector<int64_t, Tag::columns> last_frame;    ///< [G] Last frame of the window.
  Vector<int64_t, Tag::columns> first_attack;  ///< [G] First frame labelled 1 of the window, or -1.
  std::span<const int64_t> time_ns;            ///< [frames] Times of the set, which must outlive the object.
  std::vector<bool> timed;                     ///< Indexed by recording: whether its frames have times.
  std::vector<int64_t> last_of;                ///< Indexed by recording: its last frame.
  std::vector<int64_t> look_ahead;             ///< Indexed by recording: WindowSource::look_ahead().
};

/// The times of all windows of `source`, which was opened on `frames`. A window without frames ends with the
/// frame before it. Labels are only read in recordings that hold attack frames.
WindowTimes window_times(const WindowSource& source, const FramesView& frames);

}  // namespace plimsoll
