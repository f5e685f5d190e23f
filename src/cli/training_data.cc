#include "cli/training_data.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/hash.h"
#include "ingest/timing_rule.h"
#include "sample/feature_selection.h"
#include "sample/graph_set_source.h"
#include "store/split_name.h"

namespace plimsoll {

namespace {

// What is not labelled would pass for benign.
void require_labels(const FramesView& frames) {
  int64_t unlabelled = 0;
  for (const Recording& recording : frames.recordings()) {
    if (!is_training_split(recording.split)) continue;
    if (recording.labelled) return;
    ++unlabelled;
  }
  if (unlabelled > 0)
    throw InputError(
        fmt::format("{}: none of its {} training recordings has labels, and a detector learns from frames "
                    "labelled benign "
                    "or attack; ingest captures with a label column (docs/can-formats.md)",
                    frames.set().folder().string(), unlabelled));
}

// The index of an ID means nothing where each recording has a vocabulary of its own.
void require_no_identity(const Recipe& recipe) {
  const auto& hidden = recipe.data.without;
  if (recipe.data.calibration == 0 || recipe.data.features != "behaviour") return;
  if (std::ranges::find(hidden, "id_index") != hidden.end()) return;
  throw UsageError(
      "calibration compares each recording with its own IDs, and the model knows IDs by index; train it with "
      "data.without: [id_index]");
}

}  // namespace

TrainingData::TrainingData(const std::filesystem::path& folder, const Recipe& recipe, LearnedBefore known,
                           CalibrationFold fold) {
  const std::string kind = read_manifest(folder).value("kind", "");
  if (kind == "graph_set") {
    auto graphs = std::make_unique<GraphSetSource>(folder);
    identity_ = graphs->set().identity();
    source_ = std::move(graphs);
    hide_features(recipe);
    return;
  }
  frames_.emplace(folder);
  if (is_about_attacks(recipe) && known.vocabulary.empty()) require_labels(*frames_);
  identity_ = frames_->identity();
  require_no_identity(recipe);
  auto windows = open_windows(*frames_,
                              {recipe.data.features,
                               recipe.data.window.value,
                               recipe.data.stride.value,
                               recipe.data.window.unit,
                               {.leave_out = recipe.split.leave_out},
                               {recipe.data.calibration, fold}},
                              std::move(known));
  windows_ = windows.get();
  source_ = std::move(windows);
  hide_features(recipe);
}

void TrainingData::hide_features(const Recipe& recipe) {
  if (!recipe.data.without.empty())
    source_ = std::make_unique<FeatureSelection>(std::move(source_), recipe.data.without);
}

std::shared_ptr<const NamedTensors> TrainingData::benign(const TrainingSplit& split) const {
  NamedTensors tensors = windows_->learned();
  tensors.merge(TimingRule::learn(*frames_, *windows_, split.training).tensors());
  return std::make_shared<const NamedTensors>(std::move(tensors));
}

std::string TrainingData::identity_hash() const {
  Hasher hasher;
  const std::string text = identity_.dump();
  hasher.add(text.data(), text.size());
  return hasher.hex64();
}

TrainingSplit split_for(const Recipe& recipe, const BlockSource& source, std::span<const GraphShape> shapes) {
  const Recipe::Split& split = recipe.split;
  const auto seed = static_cast<uint64_t>(recipe.seed);
  const GraphSetTables& tables = source.tables();
  if (split.by == "graph") {
    if (!split.leave_out.empty())
      throw UsageError("split.leave_out names attacks of recordings; set split.by: time or recording");
    return split_by_graph(tables, shapes, split.validation, split.test, seed);
  }
  if (tables.recordings.empty())
    throw UsageError(
        fmt::format("split.by is '{}', but the data set has no recordings; set split.by: graph", split.by));
  return split.by == "recording" ? split_by_recording(tables, split.validation, seed, split.leave_out)
                                 : split_by_time(tables, split.validation, split.embargo, split.leave_out);
}

TrainingSplit detection_split(const Recipe& recipe, const TrainingData& data) {
  if (data.windows() == nullptr)
    throw UsageError(fmt::format(
        "task '{}' needs a data set of frames; for a graph_set set task: graph_classification", recipe.task));
  if (recipe.split.by == "graph")
    throw UsageError(fmt::format("task '{}' needs split.by: time or recording", recipe.task));
  return split_for(recipe, data.source(), {});
}

}  // namespace plimsoll
