#include "windows/calibration.h"

#include <algorithm>

namespace plimsoll {

Vector<int64_t, Tag::columns> calibration_windows(const WindowSource& windows, const GraphRange& recording,
                                                  int64_t most) {
  const auto wanted = static_cast<size_t>(std::min(most, recording.graphs / 3));
  Vector<int64_t, Tag::columns> benign;
  for (int64_t g = recording.first_graph; benign.size() < wanted; ++g) {
    if (g == recording.first_graph + recording.graphs) break;
    const auto labels = windows.frames(g).label;
    if (std::ranges::find(labels, uint8_t{1}) == labels.end()) benign.push_back(g);
  }
  return benign;
}

std::span<const int64_t> learned_in_fold(std::span<const int64_t> windows, CalibrationFold fold) {
  const size_t half = windows.size() / 2;
  switch (fold) {
    case CalibrationFold::all:
      return windows;
    case CalibrationFold::first_half:
      return windows.first(half);
    case CalibrationFold::second_half:
      return windows.subspan(half);
  }
  return windows;
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
