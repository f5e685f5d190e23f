#include "can/windows/calibration.h"

#include <algorithm>

namespace plimsoll {

Vector<int64_t, Tag::columns> calibration_windows(const WindowSource& windows, const GraphRange& recording,
                                                  int64_t max) {
  const auto count = static_cast<size_t>(std::min(max, recording.graphs / 3));
  Vector<int64_t, Tag::columns> benign;
  for (int64_t g = recording.first_graph; benign.size() < count; ++g) {
    if (g == recording.first_graph + recording.graphs) break;
    const auto labels = windows.frames(g).label;
    if (std::ranges::find(labels, uint8_t{1}) == labels.end()) benign.push_back(g);
  }
  return benign;
}

std::span<const int64_t> learned_in_fold(std::span<const int64_t> windows, CalibrationFold fold,
                                         int64_t gap) {
  const size_t half = windows.size() / 2;
  switch (fold) {
    case CalibrationFold::all:
      return windows;
    case CalibrationFold::first_half:
      return windows.first(half);
    case CalibrationFold::second_half:
      if (half == 0) return windows;
      return {std::ranges::upper_bound(windows.subspan(half), windows[half - 1] + gap), windows.end()};
  }
  return windows;
}

Vector<int64_t, Tag::columns> with_gaps(std::span<const int64_t> calibration,
                                        std::span<const GraphRange> recordings, int64_t gap) {
  Vector<int64_t, Tag::columns> all;
  for (const GraphRange& recording : recordings) {
    const int64_t end = recording.first_graph + recording.graphs;
    int64_t next = recording.first_graph;
    for (auto at = std::ranges::lower_bound(calibration, next); at != calibration.end() && *at < end; ++at) {
      next = std::max(next, *at);
      for (; next <= std::min(*at + gap, end - 1); ++next) all.push_back(next);
    }
  }
  return all;
}

FrameRuns runs_of(const FramesView& frames, const WindowSource& source, const Recording& recording,
                  std::span<const int64_t> windows) {
  FrameRuns runs;
  for (const int64_t graph : windows) {
    const FrameSpans part = source.frames(graph);
    if (part.size() == 0) continue;
    const int64_t first = part.can_id.data() - frames.frames().can_id.data();
    const int64_t end = first + part.size();
    if (!runs.empty() && first <= runs.back().first + runs.back().count)
      runs.back().count = end - runs.back().first;
    else
      runs.push_back({&recording, first, part.size()});
  }
  return runs;
}

std::shared_ptr<const BehaviourProfile> calibrated_profile(const FramesView& frames,
                                                           const WindowSource& source,
                                                           const Recording& recording,
                                                           std::span<const int64_t> windows) {
  const auto runs = runs_of(frames, source, recording, windows);
  if (runs.empty()) return nullptr;
  return std::make_shared<const BehaviourProfile>(BehaviourProfile::learn(frames.frames(), runs));
}

}  // namespace plimsoll
