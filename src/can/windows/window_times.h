#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "can/frames/frames.h"
#include "can/windows/windows.h"
#include "memory/vector.h"

namespace plimsoll {

/// When the windows of a source end and where their attacks begin: all that detection delay needs. Frames are
/// counted from the first of the data set.
struct WindowTimes {
  Vector<int64_t, Tag::columns> last_frame;    ///< [G]
  Vector<int64_t, Tag::columns> first_attack;  ///< [G] first frame labelled 1 of the window, or -1
  std::span<const int64_t> time_ns;            ///< [frames] of the set, which must outlive this
  std::vector<bool> timed;                     ///< by recording: whether its frames have times
  std::vector<int64_t> last_of;                ///< by recording: its last frame
  std::vector<int64_t> look_ahead;             ///< by recording: as WindowSource::look_ahead()
};

/// The times of all windows of `source`, which was opened on `frames`. A window without frames ends with the
/// frame before it. Labels are read of recordings that hold attack frames alone.
WindowTimes window_times(const WindowSource& source, const FramesView& frames);

}  // namespace plimsoll
