#include "can/windows/behaviour_windows.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "can/score/behaviour_columns.h"
#include "can/windows/calibration.h"

namespace plimsoll {
namespace {

int64_t ceil_divide(int64_t a, int64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

// A recording's clock: the latest time so far, counted from the first frame, so that it never runs backwards.
class Clock {
 public:
  explicit Clock(std::span<const int64_t> times) : times_(times), latest_(times.front()) {}

  // Advances to the first frame at `ns` or later and returns its place.
  int64_t advance(uint64_t ns) {
    while (next_ < times_.size()) {
      latest_ = std::max(latest_, times_[next_]);
      if (gap_ns(times_.front(), latest_) >= ns) break;
      ++next_;
    }
    return static_cast<int64_t>(next_);
  }

 private:
  std::span<const int64_t> times_;
  int64_t latest_;
  size_t next_ = 0;
};

}  // namespace

int64_t BehaviourWindows::count(int64_t length, int64_t window, int64_t stride) {
  if (length <= 0) return 0;
  return std::min(ceil_divide(length, stride),
                  ceil_divide(std::max<int64_t>(length - window, 0), stride) + 1);
}

BehaviourWindows::BehaviourWindows(const FramesView& frames, const WindowOptions& options,
                                   BehaviourProfile profile)
    : frames_(frames),
      options_(options),
      profile_(std::move(profile)),
      tables_(feature_tables(WindowFeatures::behaviour)) {
  for (const Recording& recording : frames.recordings()) {
    const int64_t graphs = options.unit == WindowUnit::nanoseconds
                               ? cut_by_time(recording)
                               : count(recording.frames, options.window, options.stride);
    if (tables_.splits.empty() || tables_.splits.back().name != recording.split)
      tables_.splits.push_back({recording.split, "", graphs_, 0, {}, {}, {}});
    tables_.splits.back().graphs += graphs;
    tables_.recordings.push_back({recording.name, recording.split, graphs_, graphs, recording.attack,
                                  recording.copy_of, recording.content});
    charge_.add(tables_.recordings.back().bytes());
    graphs_ += graphs;
  }
  tables_.vocabulary = profile_.vocabulary().ids();
  if (options_.calibration.windows > 0) calibrate();
}

void BehaviourWindows::calibrate() {
  for (size_t r = 0; r < frames_.recordings().size(); ++r) {
    const Recording& recording = frames_.recordings()[r];
    const auto windows = calibration_windows(*this, tables_.recordings[r], options_.calibration.windows);
    own_profiles_.push_back(
        calibrated_profile(frames_, *this, recording,
                           learned_in_fold(windows, options_.calibration.fold, options_.calibration.gap)));
    const size_t ids =
        own_profiles_.back() ? own_profiles_.back()->vocabulary().ids().size() * sizeof(MessageKey) : 0;
    charge_.add(
        static_cast<int64_t>(sizeof(own_profiles_[0]) + (ids > 0 ? sizeof(BehaviourProfile) + ids : 0)));
    calibration_.insert(calibration_.end(), windows.begin(), windows.end());
  }
}

const BehaviourProfile& BehaviourWindows::profile_of(const Recording& recording) const {
  if (own_profiles_.empty()) return profile_;
  const auto& profile = own_profiles_[static_cast<size_t>(&recording - frames_.recordings().data())];
  return profile ? *profile : profile_;
}

int64_t BehaviourWindows::cut_by_time(const Recording& recording) {
  if (recording.frames == 0) return 0;
  const std::string where = frames_.set().folder().string() + ": " + recording.path();
  if (!recording.has_time)
    throw InputError(where +
                     ": has no times to cut windows by; cut them as numbers of frames (data.window, or "
                     "--window of `plimsoll "
                     "windows`)");
  const auto times = frames_.frames().part(recording.first_frame, recording.frames).time_ns;
  const uint64_t span = gap_ns(times.front(), *std::max_element(times.begin(), times.end()));
  const auto length = static_cast<int64_t>(std::min(span, uint64_t{1} << 62)) + 1;
  const int64_t windows = count(length, options_.window, options_.stride);
  if (windows / kMaxWindows > recording.frames || span > uint64_t{1} << 62)
    throw InputError(
        fmt::format("{}: its {} frames span {:.6g} s, which makes {} windows, expected at most {} per frame; "
                    "use a longer stride, or correct the times",
                    where, recording.frames, static_cast<double>(span) / 1e9, windows, kMaxWindows));
  Clock first(times);
  Clock end(times);
  for (int64_t k = 0; k < windows; ++k) {
    const auto start = static_cast<uint64_t>(k) * static_cast<uint64_t>(options_.stride);
    const Cut cut{recording.first_frame + first.advance(start),
                  recording.first_frame + end.advance(start + static_cast<uint64_t>(options_.window))};
    if (cut.end - cut.first > BehaviourGraph::kMaxFrames)
      throw InputError(
          fmt::format("{}: {} frames in one window; use a shorter window", where, cut.end - cut.first));
    cuts_.push_back(cut);
  }
  return windows;
}

FrameWindow BehaviourWindows::window(int64_t graph) const {
  const auto after =
      std::upper_bound(tables_.recordings.begin(), tables_.recordings.end(), graph,
                       [](int64_t g, const GraphRange& range) { return g < range.first_graph; });
  // Several recordings may start at the same graph; all but the last of them are empty.
  const auto at = static_cast<size_t>(after - tables_.recordings.begin() - 1);
  const Recording& recording = frames_.recordings()[at];
  if (options_.unit == WindowUnit::nanoseconds) {
    const Cut& cut = cuts_[static_cast<size_t>(graph)];
    return {&recording, cut.first, cut.end - cut.first};
  }
  const int64_t first = (graph - tables_.recordings[at].first_graph) * options_.stride;
  return {&recording, recording.first_frame + first, std::min(options_.window, recording.frames - first)};
}

FrameSpans BehaviourWindows::frames(int64_t graph) const {
  const FrameWindow frames = window(graph);
  return frames_.frames().part(frames.first, frames.count);
}

std::vector<FrameStatistics> BehaviourWindows::frame_statistics(std::span<const int64_t> graphs,
                                                                FrameScorers& scorers) const {
  std::vector<FrameStatistics> all;
  for (const int64_t graph : graphs) {
    const FrameWindow frames = window(graph);
    all.push_back(scorers.score(frames_.frames(), frames, profile_of(*frames.recording)));
  }
  return all;
}

int64_t BehaviourWindows::scorer_bytes() const {
  int64_t longest = cuts_.empty() ? options_.window : 0;
  for (const Cut& cut : cuts_) longest = std::max(longest, cut.end - cut.first);
  int64_t max = FrameScorers::bytes(profile_, longest);
  for (const auto& profile : own_profiles_)
    if (profile) max = std::max(max, FrameScorers::bytes(*profile, longest));
  return max;
}

MessageKeys BehaviourWindows::node_ids(int64_t graph) const {
  BehaviourGraph maker(frames_.frames());
  GraphBlock block;
  block.clear();
  const FrameWindow frames = window(graph);
  maker.append(frames, profile_of(*frames.recording), block);
  return maker.node_ids();
}

void BehaviourWindows::read(std::span<const int64_t> graphs, GraphBlock& block) const {
  BehaviourGraph maker(frames_.frames());
  block.clear();
  for (size_t i = 0; i < graphs.size(); ++i) {
    if (i + 1 < graphs.size()) maker.prefetch(window(graphs[i + 1]));
    const FrameWindow frames = window(graphs[i]);
    maker.append(frames, profile_of(*frames.recording), block);
    block.graph.push_back(graphs[i]);
  }
  if (own_profiles_.empty()) return;
  for (size_t at = behaviour::kIdIndex; at < block.x.size(); at += behaviour::kNodeColumns) block.x[at] = 0;
}

}  // namespace plimsoll
