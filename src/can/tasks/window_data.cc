#include "can/tasks/window_data.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "can/recipe/can_sections.h"
#include "can/tasks/window_overlap.h"
#include "can/windows/timing_rule.h"
#include "store/split_name.h"

namespace plimsoll {
namespace {

// Requires labels, because unlabelled frames would pass for benign.
void require_labels(const FramesView& frames) {
  int64_t unlabelled = 0;
  for (const Recording& recording : frames.recordings()) {
    if (!is_training_split(recording.split)) continue;
    if (recording.labelled) return;
    ++unlabelled;
  }
  if (unlabelled > 0)
    throw InputError(
        fmt::format("{}: none of its {} training recordings has labels, but a detector learns from frames "
                    "labelled benign or attack; ingest captures with a label column (docs/can-formats.md)",
                    frames.set().folder().string(), unlabelled));
}

// Refuses calibration of a model that identifies IDs by index: the index means nothing if each recording has
// its own vocabulary.
void require_no_identity(const Recipe& recipe) {
  const auto& hidden = recipe.data.without;
  const CanSections& can = can_sections(recipe);
  if (can.calibration.calibration == 0 || can.windows.features != WindowFeatures::behaviour) return;
  if (std::ranges::find(hidden, "id_index") != hidden.end()) return;
  throw UsageError(
      "calibration compares each recording with its own IDs, but the model identifies IDs by index; train it "
      "with "
      "data.without: [id_index]");
}

}  // namespace

struct WindowData::Opened {
  OpenedData data;
  const FramesView* frames;
  const WindowSource* windows;
  int64_t calibration_gap;
};

WindowData::Opened WindowData::open(const std::filesystem::path& folder, const Recipe& recipe,
                                    WindowDataOptions options) {
  auto frames = std::make_shared<const FramesView>(folder);
  if (options.labels) require_labels(*frames);
  require_no_identity(recipe);
  const WindowSection& asked = can_sections(recipe).windows;
  const Overlap overlap = overlap_of_windows(asked.window.value, asked.stride.value);
  const int64_t gap = recipe.split.rule == 1 ? 0 : overlap.graphs;
  auto windows = open_windows(*frames,
                              {asked.features,
                               asked.window.value,
                               asked.stride.value,
                               asked.window.unit,
                               {.leave_out = recipe.split.leave_out},
                               {can_sections(recipe).calibration.calibration, options.fold, gap}},
                              std::move(options.known));
  Opened opened{.data = {}, .frames = frames.get(), .windows = windows.get(), .calibration_gap = gap};
  opened.data = {.owner = frames,
                 .source = std::move(windows),
                 .identity = frames->identity(),
                 .unit = "windows",
                 .overlap = overlap};
  return opened;
}

OpenedData open_window_data(const std::filesystem::path& folder, const Recipe& recipe,
                            const MessageIds& vocabulary) {
  return WindowData::open(folder, recipe, {.known = {.vocabulary = vocabulary}}).data;
}

WindowData::WindowData(const std::filesystem::path& folder, const Recipe& recipe, WindowDataOptions options)
    : WindowData(folder, recipe, open(folder, recipe, std::move(options))) {}

WindowData::WindowData(const std::filesystem::path& folder, const Recipe& recipe, Opened opened)
    : TrainingData(folder, recipe, std::move(opened.data)),
      frames_(opened.frames),
      windows_(opened.windows),
      calibration_gap_(opened.calibration_gap) {}

std::shared_ptr<const NamedTensors> WindowData::benign(const TrainingSplit& split) const {
  NamedTensors tensors = windows_->learned();
  tensors.merge(TimingRule::learn(*frames_, *windows_, split.training).tensors());
  return std::make_shared<const NamedTensors>(std::move(tensors));
}

}  // namespace plimsoll
