#include "can/windows/compat_windows.h"

#include <algorithm>

namespace plimsoll {

int64_t CompatWindows::count(int64_t frames, const WindowOptions& options) {
  const int64_t rows = CompatRows::in_frames(frames);
  if (rows <= 0) return 0;
  if (rows < options.window) return 1;
  return (rows - options.window) / options.stride + 1;
}

CompatWindows::CompatWindows(const FramesView& frames, const WindowOptions& options, Vocabulary vocabulary)
    : frames_(frames),
      options_(options),
      vocabulary_(std::move(vocabulary)),
      tables_(feature_tables(WindowFeatures::compat)) {
  for (const Recording& recording : frames.recordings()) {
    const int64_t graphs = count(recording.frames, options);
    if (tables_.splits.empty() || tables_.splits.back().name != recording.split)
      tables_.splits.push_back({recording.split, "", graphs_, 0, {}, {}});
    tables_.splits.back().graphs += graphs;
    tables_.recordings.push_back({recording.name, recording.split, graphs_, graphs, recording.attack,
                                  recording.copy_of, recording.content});
    charge_.add(tables_.recordings.back().bytes());
    graphs_ += graphs;
  }
  tables_.vocabulary = vocabulary_.ids();
}

CompatRows CompatWindows::rows(int64_t graph) const {
  const auto after =
      std::upper_bound(tables_.recordings.begin(), tables_.recordings.end(), graph,
                       [](int64_t g, const GraphRange& range) { return g < range.first_graph; });
  // Several recordings may start at the same graph; all but the last of them are empty.
  const auto at = after - tables_.recordings.begin() - 1;
  const Recording& recording = frames_.recordings()[static_cast<size_t>(at)];
  const int64_t first = (graph - tables_.recordings[static_cast<size_t>(at)].first_graph) * options_.stride;
  return {first, std::min(options_.window, CompatRows::in_frames(recording.frames) - first),
          recording.first_frame};
}

FrameSpans CompatWindows::frames(int64_t graph) const {
  const CompatRows window = rows(graph);
  return frames_.frames().part(window.frame(0), window.frames());
}

MessageKeys CompatWindows::node_ids(int64_t graph) const {
  return compat_node_ids(frames(graph).can_id, vocabulary_);
}

void CompatWindows::read(std::span<const int64_t> graphs, GraphBlock& block) const {
  CompatGraph maker(vocabulary_);
  block.clear();
  for (const int64_t graph : graphs) {
    maker.append(frames_.frames(), rows(graph), block);
    block.graph.push_back(graph);
  }
}

}  // namespace plimsoll
