#pragma once

#include "ingest/windows.h"
#include "sample/window_times.h"
#include "store/frames.h"

namespace plimsoll {

/// The times of all windows of `source`, which was opened on `frames`. A window without frames ends with the
/// frame before it. Labels are read of recordings that hold attack frames alone.
WindowTimes window_times(const WindowSource& source, const FramesView& frames);

}  // namespace plimsoll
