#include "can/windows/window_times.h"

#include <algorithm>

namespace plimsoll {

WindowTimes window_times(const WindowSource& source, const FramesView& frames) {
  const FrameSpans& all = frames.frames();
  WindowTimes times;
  times.last_frame.resize(static_cast<size_t>(source.graphs()));
  times.first_attack.resize(static_cast<size_t>(source.graphs()));
  times.time_ns = all.time_ns;
  for (size_t r = 0; r < frames.recordings().size(); ++r) {
    const Recording& recording = frames.recordings()[r];
    const GraphRange& graphs = source.tables().recordings[r];
    times.timed.push_back(recording.has_time);
    times.last_of.push_back(recording.first_frame + recording.frames - 1);
    times.look_ahead.push_back(source.look_ahead(recording));
    for (int64_t g = graphs.first_graph; g < graphs.first_graph + graphs.graphs; ++g) {
      const FrameSpans window = source.frames(g);
      const int64_t first = window.time_ns.data() - all.time_ns.data();
      times.last_frame[static_cast<size_t>(g)] = first + window.size() - 1;
      int64_t& attack = times.first_attack[static_cast<size_t>(g)];
      attack = -1;
      if (recording.attack_frames == 0) continue;
      const auto found = std::ranges::find(window.label, uint8_t{1});
      if (found != window.label.end()) attack = first + (found - window.label.begin());
    }
  }
  return times;
}

}  // namespace plimsoll
