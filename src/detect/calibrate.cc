#include "detect/calibrate.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/json.h"
#include "detect/window_judge.h"
#include "store/column_check.h"
#include "windows/behaviour_windows.h"
#include "windows/calibration.h"

namespace plimsoll {
namespace {

// Benign windows of all recordings, in their order; not what is left at the end of one, which `detect` does
// not judge.
struct Benign {
  Vector<int64_t, Tag::columns> graphs;
  int64_t left_out = 0;
};

Benign benign_of(const WindowSource& windows, const WindowOptions& options) {
  Benign benign;
  for (const GraphRange& recording : windows.tables().recordings) {
    const int64_t end = recording.first_graph + recording.graphs;
    for (int64_t g = recording.first_graph; g < end; ++g) {
      const FrameSpans frames = windows.frames(g);
      const bool by_time = options.unit == WindowUnit::nanoseconds;
      if (recording.graphs > 1 && g + 1 == end && (by_time || frames.size() < options.window)) continue;
      if (std::ranges::find(frames.label, uint8_t{1}) == frames.label.end())
        benign.graphs.push_back(g);
      else
        ++benign.left_out;
    }
  }
  return benign;
}

BehaviourProfile profile_of(const FramesView& frames, const WindowSource& windows,
                            std::span<const int64_t> graphs) {
  std::vector<FrameWindow> runs;
  const auto& recordings = windows.tables().recordings;
  for (size_t r = 0; r < recordings.size(); ++r) {
    const auto first = std::ranges::lower_bound(graphs, recordings[r].first_graph);
    const auto end = std::lower_bound(first, graphs.end(), recordings[r].first_graph + recordings[r].graphs);
    const auto its = runs_of(frames, windows, frames.recordings()[r], {first, end});
    runs.insert(runs.end(), its.begin(), its.end());
  }
  return BehaviourProfile::learn(frames.frames(), runs);
}

// The parts of these windows by a profile that was not learned from them.
void judge(const DetectorFile& model, const FramesView& frames, const BehaviourProfile& profile,
           std::span<const int64_t> graphs, FusedRows& rows) {
  const BehaviourWindows windows(frames, model.windows, profile);
  WindowJudge judge(model, windows.tables());
  FrameJudges judges{.benign_only = true};
  GraphBlock block;
  for (const int64_t graph : graphs) {
    windows.read(std::span(&graph, 1), block);
    rows.add(judge.parts(block, windows.frame_statistics(std::span(&graph, 1), judges).front()));
  }
}

double seconds_of(const FramesView& frames) {
  double seconds = 0;
  for (const Recording& recording : frames.recordings()) {
    if (!recording.has_time || recording.frames == 0) continue;
    const auto times = frames.frames().part(recording.first_frame, recording.frames).time_ns;
    seconds += static_cast<double>(gap_ns(times.front(), *std::ranges::max_element(times))) / 1e9;
  }
  return seconds;
}

// The model's tensors and metadata, with another profile and other levels.
void write(const DetectorFile& model, const BehaviourProfile& profile, const Fusion& fusion,
           const CalibrationResult& result, const std::filesystem::path& out) {
  NamedTensors learned = profile.tensors();
  learned.merge(fusion.tensors());
  std::map<std::string, TensorSpan> tensors;
  for (const auto& [name, tensor] : model.file.tensors())
    if (!name.starts_with("profile.") && !name.starts_with("fusion.") && !name.starts_with("timing."))
      tensors[name] = tensor;
  for (const auto& [name, tensor] : learned) tensors[name] = tensor.span();
  TensorMetadata metadata = model.file.metadata();
  metadata["plimsoll.calibrated"] =
      Json{{"windows", result.windows}, {"seconds", result.seconds}, {"ids", result.ids}}.dump();
  put_channel_names(profile.vocabulary().ids().channels, metadata);
  write_safetensors(out, tensors, metadata);
}

}  // namespace

void require_calibratable(const DetectorFile& model) {
  if (model.windows.features != "behaviour")
    throw InputError(
        fmt::format("{}: was trained on features '{}', which compare with no profile; train one with "
                    "data.features: behaviour",
                    model.file.path(), model.windows.features));
  if (!model.hides_identity())
    throw UsageError(
        fmt::format("{}: knows IDs by index, which mean nothing on another vehicle; train it with "
                    "data.without: [id_index]",
                    model.file.path()));
}

CalibrationResult calibrate_detector(const DetectorFile& model, const std::filesystem::path& benign_frames,
                                     const std::filesystem::path& out) {
  require_calibratable(model);
  const FramesView frames(benign_frames);
  check_columns(frames.set(), {.full = true});  // all of it is read
  const BehaviourWindows windows(frames, model.windows, *model.known.profile);
  const Benign benign = benign_of(windows, model.windows);
  CalibrationResult result{
      .windows = std::ssize(benign.graphs), .left_out = benign.left_out, .seconds = seconds_of(frames)};
  if (result.windows < kFewestCalibrationWindows)
    throw InputError(fmt::format(
        "{} windows of the benign traffic hold no frame labelled an attack, expected {} at least; "
        "give a longer capture",
        result.windows, kFewestCalibrationWindows));
  const std::span<const int64_t> all = benign.graphs;
  const auto first = learned_in_fold(all, CalibrationFold::first_half);
  const auto second = learned_in_fold(all, CalibrationFold::second_half);
  FusedRows rows;
  judge(model, frames, profile_of(frames, windows, second), first, rows);
  judge(model, frames, profile_of(frames, windows, first), second, rows);
  const Fusion fusion = Fusion::learn(rows, {}, Fusion::Timing::by_id);
  const BehaviourProfile profile = profile_of(frames, windows, all);
  result.ids = profile.vocabulary().size();
  result.expected = std::ssize(profile.expected());
  result.line = fusion.lines().back();
  write(model, profile, fusion, result, out);
  return result;
}

}  // namespace plimsoll
