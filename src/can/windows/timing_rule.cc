#include "can/windows/timing_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/interrupt.h"
#include "can/profile/distinct_keys.h"
#include "can/profile/gap_bins.h"

namespace plimsoll {
namespace {

// First and end frame of a window in the set.
struct Place {
  int64_t first;
  int64_t end;
};
Place place_of(const FramesView& frames, const WindowSource& windows, int64_t graph) {
  const std::span<const uint32_t> ids = windows.frames(graph).can_id;
  const int64_t first = ids.empty() ? 0 : ids.data() - frames.frames().can_id.data();
  return {first, first + static_cast<int64_t>(ids.size())};
}

// Calls visit(recording, first graph, graphs) for each recording that has windows.
template <typename Visit>
void visit_recordings(const FramesView& frames, const WindowSource& windows, Visit&& visit) {
  for (size_t r = 0; r < frames.recordings().size(); ++r) {
    const GraphRange& range = windows.tables().recordings[r];
    if (range.graphs > 0) visit(frames.recordings()[r], range.first_graph, range.graphs);
  }
}

// The time at which each ID was last seen in a recording.
struct LastSeen {
  explicit LastSeen(int32_t ids) : times(static_cast<size_t>(ids)), seen(static_cast<size_t>(ids)) {}

  // The gap from the ID's last frame to this one; 0 for its first.
  int64_t gap_to(int32_t id, int64_t time) {
    const auto at = static_cast<size_t>(id);
    const int64_t gap = seen[at] != 0 ? GapBins::gap_of(times[at], time) : 0;
    seen[at] = 1;
    times[at] = time;
    return gap;
  }
  void forget() { std::ranges::fill(seen, uint8_t{0}); }

  Vector<int64_t, Tag::columns> times;
  Vector<uint8_t, Tag::columns> seen;
};

// Number of frames of each ID in a window.
struct Counts {
  explicit Counts(int32_t ids) : by_id(static_cast<size_t>(ids), 0) {}

  void add(int32_t id) {
    if (by_id[static_cast<size_t>(id)]++ == 0) present.push_back(id);
  }
  // Calls visit(id, count) for each ID present, and resets the counts.
  template <typename Visit>
  void take(Visit&& visit) {
    for (const int32_t id : present) visit(id, std::exchange(by_id[static_cast<size_t>(id)], 0));
    present.clear();
  }

  Vector<int32_t, Tag::columns> by_id;
  Vector<int32_t, Tag::columns> present = {};
};

}  // namespace

TimingRule::TimingRule(Vocabulary ids)
    : vocabulary_(std::move(ids)), ids_(static_cast<size_t>(vocabulary_.size())) {}

struct TimingRule::Learner {
  TimingRule& rule;
  const FramesView& set;
  const WindowSource& windows;
  Vector<uint32_t, Tag::columns> bins;  // GapBins::kBins bins for each ID.
  LastSeen last;
  Counts counts;
  FrameKeys keys = {};  // Keys of the recording.

  Learner(TimingRule& into, const FramesView& frames, const WindowSource& source)
      : rule(into),
        set(frames),
        windows(source),
        bins(into.ids_.size() * GapBins::kBins, 0),
        last(into.vocabulary_.size()),
        counts(into.vocabulary_.size()) {}

  // The ID index of a frame to learn from; -1 for other frames.
  int32_t benign_id(int64_t frame) const {
    const auto f = static_cast<size_t>(frame);
    if (set.frames().label[f] != 0) return -1;
    const int32_t id = rule.vocabulary_.index(keys[f]);
    return id < rule.vocabulary_.size() ? id : -1;
  }

  void see(int64_t frame, bool learn) {
    const int32_t id = benign_id(frame);
    if (id < 0) return;
    const int64_t gap = last.gap_to(id, set.frames().time_ns[static_cast<size_t>(frame)]);
    if (learn && gap > 0) ++bins[static_cast<size_t>(id) * GapBins::kBins + GapBins::bin_of(gap)];
  }

  // `graphs` are windows of this recording, ascending. The gap before a frame that is in several windows is
  // counted once.
  void add(const Recording& recording, std::span<const int64_t> graphs) {
    last.forget();
    keys = rule.vocabulary_.keys(set.frames(), recording);
    int64_t next = recording.first_frame;
    for (const int64_t graph : graphs) {
      throw_if_interrupted("the timing of messages was learned");
      const Place place = place_of(set, windows, graph);
      if (recording.has_time) {
        for (; next < place.first; ++next) see(next, false);
        for (; next < place.end; ++next) see(next, true);
      }
      for (int64_t frame = place.first; frame < place.end; ++frame)
        if (const int32_t id = benign_id(frame); id >= 0) counts.add(id);
      counts.take([&](int32_t id, int64_t count) {
        int64_t& max = rule.ids_[static_cast<size_t>(id)].max;
        max = std::max(max, count);
      });
    }
  }

  void finish() {
    for (size_t id = 0; id < rule.ids_.size(); ++id) {
      const std::span<const uint32_t> id_bins = std::span(bins).subspan(id * GapBins::kBins, GapBins::kBins);
      int64_t gaps = 0;
      for (const uint32_t count : id_bins) gaps += count;
      if (gaps < kMinGaps) continue;
      const auto below = static_cast<int64_t>(kQuantile * static_cast<double>(gaps));
      rule.ids_[id].min_gap = GapBins::min_of(GapBins::bin_at(id_bins, below));
    }
  }
};

TimingRule TimingRule::learn(const FramesView& frames, const WindowSource& windows,
                             std::span<const int64_t> graphs) {
  DistinctKeys seen;
  std::vector<std::string> channels;
  const auto graphs_of = [&](int64_t first, int64_t count) {
    const auto begin = std::ranges::lower_bound(graphs, first);
    return std::span(begin, std::lower_bound(begin, graphs.end(), first + count));
  };
  visit_recordings(frames, windows, [&](const Recording& recording, int64_t first, int64_t count) {
    const auto recording_graphs = graphs_of(first, count);
    if (recording_graphs.empty()) return;
    add_channels(recording, channels);
    const FrameKeys keys(frames.frames(), recording, channels);
    for (const int64_t graph : recording_graphs) {
      const Place place = place_of(frames, windows, graph);
      for (auto f = static_cast<size_t>(place.first); f < static_cast<size_t>(place.end); ++f)
        if (frames.frames().label[f] == 0) seen.add(keys[f]);
    }
  });
  if (seen.empty())
    throw InputError(
        fmt::format("{}: the training windows hold no frame labelled 0 to learn timing from; add attack-free "
                    "recordings to the training splits",
                    frames.set().folder().string()));
  TimingRule rule{Vocabulary({seen.take(), std::move(channels)})};
  Learner learner(rule, frames, windows);
  visit_recordings(frames, windows, [&](const Recording& recording, int64_t first, int64_t count) {
    learner.add(recording, graphs_of(first, count));
  });
  learner.finish();
  return rule;
}

struct TimingRule::Scorer {
  const TimingRule& rule;
  const FramesView& set;
  LastSeen last;
  Counts counts;
  // Scores of the frames from `base` on: by how much they come too soon.
  Vector<float, Tag::columns> sooner = {};
  int64_t base = 0;
  FrameKeys keys = {};  // Keys of the recording.

  Scorer(const TimingRule& from, const FramesView& frames)
      : rule(from), set(frames), last(from.vocabulary_.size()), counts(from.vocabulary_.size()) {}

  float see(int64_t frame) {
    const auto f = static_cast<size_t>(frame);
    const int32_t id = rule.vocabulary_.index(keys[f]);
    if (id >= rule.vocabulary_.size()) return kNothing;
    const int64_t gap = last.gap_to(id, set.frames().time_ns[f]);
    const int64_t min = rule.ids_[static_cast<size_t>(id)].min_gap;
    if (gap == 0 || min == 0) return kNothing;
    return static_cast<float>(std::log(static_cast<double>(min) / static_cast<double>(gap)));
  }

  void begin(const Recording& recording) {
    last.forget();
    sooner.clear();
    keys = rule.vocabulary_.keys(set.frames(), recording);
    base = recording.first_frame;
  }

  // Windows must be passed in order of time; overlapping windows share the scores of their frames.
  float score(const Recording& recording, const Place& place) {
    float worst = kNothing;
    if (recording.has_time && place.end > place.first) {
      for (int64_t next = base + std::ssize(sooner); next < place.end; ++next) sooner.push_back(see(next));
      sooner.erase(sooner.begin(), sooner.begin() + (place.first - base));
      base = place.first;
      worst = *std::max_element(sooner.begin(), sooner.begin() + (place.end - place.first));
    }
    for (int64_t frame = place.first; frame < place.end; ++frame) {
      const int32_t id = rule.vocabulary_.index(keys[static_cast<size_t>(frame)]);
      if (id < rule.vocabulary_.size()) counts.add(id);
    }
    counts.take([&](int32_t id, int64_t count) {
      const int64_t max = rule.ids_[static_cast<size_t>(id)].max;
      worst = std::max(worst,
                       static_cast<float>(std::log(static_cast<double>(count) / static_cast<double>(max))));
    });
    return worst;
  }
};

Vector<float, Tag::columns> TimingRule::scores(const FramesView& frames, const WindowSource& windows) const {
  Vector<float, Tag::columns> scores(static_cast<size_t>(windows.graphs()));
  Scorer scorer(*this, frames);
  visit_recordings(frames, windows, [&](const Recording& recording, int64_t first, int64_t count) {
    scorer.begin(recording);
    for (int64_t graph = first; graph < first + count; ++graph)
      scores[static_cast<size_t>(graph)] = scorer.score(recording, place_of(frames, windows, graph));
  });
  return scores;
}

NamedTensors TimingRule::tensors() const {
  const auto count = static_cast<int64_t>(ids_.size());
  const Vector<int64_t, Tag::columns> can_ids(vocabulary_.ids().keys.begin(), vocabulary_.ids().keys.end());
  Vector<int64_t, Tag::columns> gaps;
  Vector<int64_t, Tag::columns> max;
  for (const Id& id : ids_) {
    gaps.push_back(id.min_gap);
    max.push_back(id.max);
  }
  return {{"timing.ids", own_tensor<int64_t>(can_ids, {count})},
          {"timing.least_gap_ns", own_tensor<int64_t>(gaps, {count})},
          {"timing.most", own_tensor<int64_t>(max, {count})}};
}

std::optional<TimingRule> TimingRule::from_tensors(const NamedTensors& tensors,
                                                   std::vector<std::string> channels) {
  if (!tensors.contains("timing.ids")) return std::nullopt;
  TimingRule rule{Vocabulary::from_tensor(tensors, "timing.ids", std::move(channels))};
  const int64_t count = rule.vocabulary_.size();
  const auto gaps = values_of<int64_t>(tensors, "timing.least_gap_ns", {count});
  const auto max = values_of<int64_t>(tensors, "timing.most", {count});
  for (size_t i = 0; i < rule.ids_.size(); ++i) {
    if (gaps[i] < 0 || max[i] < 1)
      throw InputError("the model's tensors 'timing.*' hold impossible values; train it again");
    rule.ids_[i] = {gaps[i], max[i]};
  }
  return rule;
}

}  // namespace plimsoll
