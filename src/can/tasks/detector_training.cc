#include "can/tasks/detector_training.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/units.h"
#include "base/word_text.h"
#include "can/profile/behaviour_profile.h"
#include "can/profile/vocabulary.h"
#include "can/recipe/can_sections.h"
#include "can/tasks/detection_labels.h"
#include "can/tasks/evaluate_detector.h"
#include "can/tasks/learn_fusion.h"
#include "engine/plan/stage_memory.h"
#include "io/file.h"

namespace plimsoll {
namespace {

// Copies a stage's model to where `detect` looks for it.
void publish_detector(const std::filesystem::path& model, const RunFolder& folder) {
  const MappedFile file(model);
  replace_file(folder.root / kDetectorFile,
               [&](File& copy) { copy.write(file.bytes().data(), file.bytes().size()); });
}

}  // namespace

TrainedContext known_of(const DetectorFacts& facts) {
  return {facts.vocabulary, BehaviourProfile::from_tensors(*facts.benign, facts.vocabulary.channels)};
}

TrainingSplit detection_split(const Recipe& recipe, const WindowData& data) {
  if (recipe.split.by == SplitBy::graph)
    throw UsageError(fmt::format("task '{}' needs split.by: time or recording", recipe.task));
  return split_for(recipe, data, {});
}

EvaluationResult DetectorTask::evaluate(const RunEvaluation& options) const {
  if (options.rehearsal == nullptr) return evaluate_detector(options);
  options.rehearsal->need(smallest_evaluation_budget(options));
  return {};
}

DetectorTraining::DetectorTraining(RunRequest request) : request_(std::move(request)) {
  require_kind(request_.data, request_.recipe, {"frames"});
  data_.emplace(request_.data, request_.recipe, WindowDataOptions{.labels = true});
  shapes_ = read_shapes(data_->source(), request_.memory.threads);
  split_ = detection_split(request_.recipe, *data_);
}

DetectorFacts DetectorTraining::facts() const {
  const Recipe& recipe = request_.recipe;
  const WindowSection& asked = can_sections(recipe).windows;
  const Json windows = {
      {"features", asked.features}, {"window", asked.window.text()}, {"stride", asked.stride.text()}};
  return {.vocabulary = data_->source().tables().vocabulary,
          .benign_ids = training_ids(data_->frames(), true, {.leave_out = recipe.split.leave_out}),
          .trained_on = split_.contents,
          .without = recipe.data.without,
          .data = windows.dump(),
          .benign = data_->benign(split_)};
}

std::string DetectorTraining::trained_on() const {
  return fmt::format("{} windows ({} with attacks) of {} recordings, validated on {}; {} copies left out",
                     format_count(static_cast<int64_t>(split_.training.size())),
                     format_count(count_attacks(split_.training, shapes_)), split_.used.size(),
                     format_count(static_cast<int64_t>(split_.validation.size())), split_.copies.size());
}

// Learns the levels of fused scores on windows as `plimsoll detect` makes them for a known vehicle; these
// windows replace the training windows.
const TrainedStage* DetectorTraining::finish(const std::vector<TrainedStage>& stages, const RunFolder& folder,
                                             const RunOptions& run) {
  shapes_ = {};
  split_ = {};
  Recipe recipe = request_.recipe;
  if (int64_t& calibration = can_sections(recipe).calibration.calibration; calibration > 0) {
    calibration = 0;
    data_.emplace(request_.data, recipe, WindowDataOptions{.labels = true});
  }
  const auto model = [&](const TrainedStage& stage) {
    return folder.seed(stage.seed) / stage.report.stage / "model.safetensors";
  };
  for (const TrainedStage& stage : stages) {
    if (!is_fused(stage.report.stage)) continue;
    RunOptions fusion_run = run;
    std::optional<StageMemory> memory;
    if (stages.size() > 1) fusion_run.memory = memory.emplace(run.memory).share();
    learn_fusion(model(stage), *data_, recipe, fusion_run);
  }
  const TrainedStage* const best = chosen(stages);
  if (best != nullptr) publish_detector(model(*best), folder);
  return best;
}

}  // namespace plimsoll
