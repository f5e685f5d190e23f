#include "can/detector/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/json.h"
#include "base/word_text.h"
#include "can/detector/window_scorer.h"
#include "can/frames/verify_frames.h"
#include "can/profile/profile_sums.h"
#include "can/windows/behaviour_windows.h"
#include "can/windows/calibration.h"
#include "store/column_check.h"
#include "store/metadata_json.h"

namespace plimsoll {
namespace {

// Benign windows of all recordings, in their order, without the partial window at the end of each, which
// `detect` does not evaluate.
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
                            std::span<const int64_t> graphs, ProfileSums* sums = nullptr) {
  FrameRuns runs;
  const auto& recordings = windows.tables().recordings;
  for (size_t r = 0; r < recordings.size(); ++r) {
    const auto first = std::ranges::lower_bound(graphs, recordings[r].first_graph);
    const auto end = std::lower_bound(first, graphs.end(), recordings[r].first_graph + recordings[r].graphs);
    const auto recording_runs = runs_of(frames, windows, frames.recordings()[r], {first, end});
    runs.insert(runs.end(), recording_runs.begin(), recording_runs.end());
  }
  return BehaviourProfile::learn(frames.frames(), runs, sums);
}

// Appends the parts of these windows. They are compared with a profile that was not learned from them.
void score(const DetectorFile& model, const FramesView& frames, const BehaviourProfile& profile,
           std::span<const int64_t> graphs, const std::function<void()>& progress, FusedRows& rows) {
  const BehaviourWindows windows(frames, model.windows, profile);
  WindowScorer scorer(model, windows.tables());
  FrameScorers scorers{.benign_only = true};
  GraphBlock block;
  for (const int64_t graph : graphs) {
    progress();
    windows.read(std::span(&graph, 1), block);
    rows.add(scorer.parts(block, windows.frame_statistics(std::span(&graph, 1), scorers).front(), true));
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

bool is_of_vehicle(const std::string& tensor) {
  return tensor.starts_with("profile.") || tensor.starts_with("fusion.") || tensor.starts_with("timing.");
}

// Writes the model's tensors and metadata with another profile and other levels.
CalibrationResult write(const DetectorFile& model, const LearnedDrive& drive, const FusedRows& rows,
                        CalibrationResult result, const std::filesystem::path& out) {
  const Fusion fusion = Fusion::learn(rows, {}, Fusion::Timing::by_id);
  const BehaviourProfile& profile = drive.profile;
  result.windows = rows.size();
  result.ids = profile.vocabulary().size();
  result.expected = std::ssize(profile.expected());
  result.line = fusion.lines().back();
  NamedTensors learned = profile.tensors();
  learned.merge(drive.sums.tensors());
  learned.merge(fusion.tensors());
  learned.merge(rows.tensors());
  std::map<std::string, TensorSpan> tensors;
  for (const auto& [name, tensor] : model.file.tensors())
    if (!is_of_vehicle(name)) tensors[name] = tensor;
  for (const auto& [name, tensor] : learned) tensors[name] = tensor.span();
  TensorMetadata metadata = model.file.metadata();
  metadata["plimsoll.calibrated"] =
      Json{{"windows", result.windows}, {"seconds", result.seconds}, {"ids", result.ids}}.dump();
  put_channel_names(profile.vocabulary().ids().channels, metadata);
  result.unsaved.attempt([&] { write_safetensors(out, tensors, metadata); });
  return result;
}

// Whether two files differ only in the profile and levels learned from a vehicle.
bool is_same_model(const DetectorFile& first, const DetectorFile& second) {
  const auto known = [](const DetectorFile& model) {
    TensorMetadata metadata = model.file.metadata();
    for (const char* const key : {kChecksum, "plimsoll.calibrated", "plimsoll.channels"}) metadata.erase(key);
    return metadata;
  };
  const auto weights = [](const DetectorFile& model) {
    std::vector<std::pair<std::string, const TensorSpan*>> all;
    for (const auto& [name, tensor] : model.file.tensors())
      if (!is_of_vehicle(name)) all.emplace_back(name, &tensor);
    return all;
  };
  return known(first) == known(second) &&
         std::ranges::equal(weights(first), weights(second), [](const auto& a, const auto& b) {
           return a.first == b.first && a.second->dtype == b.second->dtype &&
                  a.second->shape == b.second->shape && std::ranges::equal(a.second->data, b.second->data);
         });
}

LearnedDrive drive_of(const DetectorFile& model) {
  try {
    return {*model.known.profile,
            ProfileSums::from_tensors(own_tensors(model.file, "profile.sums."), *model.known.profile)};
  } catch (const InputError& error) {
    throw InputError(model.file.path() + ": " + error.what());
  }
}

}  // namespace

void require_calibratable(const DetectorFile& model) {
  if (model.windows.features != WindowFeatures::behaviour)
    throw InputError(
        fmt::format("{}: was trained on features '{}', which are not compared with a profile; train a "
                    "detector with data.features: behaviour",
                    model.file.path(), model.windows.features));
  if (!model.hides_identity())
    throw UsageError(fmt::format(
        "{}: identifies IDs by index, so new traffic cannot be added to it; make it again with this traffic "
        "included (`plimsoll detector`), or train one for several vehicles, with data.without: "
        "[id_index]",
        model.file.path()));
}

CalibrationResult calibrate_detector(const DetectorFile& model, const std::filesystem::path& benign_frames,
                                     const std::filesystem::path& out,
                                     const std::function<void()>& progress) {
  require_calibratable(model);
  const FramesView frames(benign_frames);
  check_columns(frames.set(), {.full = true});  // All columns are read.
  require_sound(frames);
  const BehaviourWindows windows(frames, model.windows, *model.known.profile);
  const Benign benign = benign_of(windows, model.windows);
  CalibrationResult result{
      .windows = std::ssize(benign.graphs), .left_out = benign.left_out, .seconds = seconds_of(frames)};
  // Windows that share frames with windows of the other half belong to neither half.
  const int64_t gap = overlapping_windows(model.windows.window, model.windows.stride);
  const int64_t min_windows = kMinCalibrationWindows + 2 * gap;
  if (result.windows < min_windows)
    throw InputError(
        fmt::format("{} windows of the benign traffic hold no frame labelled as an attack, expected at least "
                    "{}; give a longer capture",
                    result.windows, min_windows));
  const std::span<const int64_t> all = benign.graphs;
  const auto first = learned_in_fold(all, CalibrationFold::first_half, gap);
  const auto second = learned_in_fold(all, CalibrationFold::second_half, gap);
  FusedRows rows;
  score(model, frames, profile_of(frames, windows, second), first, progress, rows);
  score(model, frames, profile_of(frames, windows, first), second, progress, rows);
  ProfileSums sums;
  BehaviourProfile profile = profile_of(frames, windows, all, &sums);
  return write(model, {std::move(profile), std::move(sums)}, rows, result, out);
}

CalibrationResult merge_detectors(const std::vector<std::filesystem::path>& paths,
                                  const std::filesystem::path& out) {
  std::vector<std::unique_ptr<DetectorFile>> models;
  for (const auto& path : paths) {
    models.push_back(std::make_unique<DetectorFile>(path));
    require_calibratable(*models.back());
    if (!is_same_model(*models.back(), *models.front()))
      throw InputError(
          fmt::format("{}: was made from another model than {}; calibrate the same model on each drive",
                      path.string(), paths.front().string()));
  }
  // Floating-point sums depend on their order; sorting by content makes it independent of the arguments'
  // order.
  std::ranges::sort(models, {}, [](const auto& model) { return model->file.meta(kChecksum); });
  const auto twice =
      std::ranges::adjacent_find(models, {}, [](const auto& model) { return model->file.meta(kChecksum); });
  if (twice != models.end())
    throw UsageError(fmt::format("{} and {} are the same calibration; name each drive only once",
                                 (*twice)->file.path(), (*std::next(twice))->file.path()));
  std::vector<LearnedDrive> drives;
  FusedRows rows;
  CalibrationResult result;
  for (const auto& model : models) {
    drives.push_back(drive_of(*model));
    const FusedRows model_rows = FusedRows::from_tensors(own_tensors(model->file, "fusion.rows"));
    rows.values.insert(rows.values.end(), model_rows.values.begin(), model_rows.values.end());
    result.seconds += read_metadata(model->file, "plimsoll.calibrated", [](const Json& calibrated) {
      return calibrated.at("seconds").get<double>();
    });
  }
  ProfileSums sums;
  BehaviourProfile profile = BehaviourProfile::merged(drives, sums);
  return write(*models.front(), {std::move(profile), std::move(sums)}, rows, result, out);
}

}  // namespace plimsoll
