#include "can/tasks/stage_thresholds.h"

#include "can/recipe/can_sections.h"
#include "can/tasks/detection_labels.h"
#include "can/tasks/scorer.h"

namespace plimsoll {
namespace {

// Raises each level to the greater of the two, so that benign windows are below it whether their IDs are
// known or not.
void raise(std::vector<Threshold>& thresholds, const std::vector<Threshold>& others,
           std::span<const float> benign) {
  for (size_t t = 0; t < thresholds.size(); ++t) {
    Threshold& threshold = thresholds[t];
    threshold.level = std::max(threshold.level, others[t].level);
    const auto above = std::ranges::count_if(benign, [&](float score) { return score > threshold.level; });
    threshold.realised_rate = static_cast<double>(above) / static_cast<double>(benign.size());
  }
}

}  // namespace

void set_thresholds(Detector& detector, const BlockSource& source, std::span<const GraphShape> shapes,
                    const Recipe& recipe, const TrainingSplit& split, const RunOptions& run) {
  const GraphList benign = benign_of(split.validation, shapes);
  const BlockSection& block = recipe.training.block;
  ScorerOptions options{.source = &source,
                        .shapes = shapes,
                        .limits = {block.graphs, block.nodes, block.edges},
                        .memory = run.memory,
                        .later = static_cast<int64_t>(4 * benign.size() * sizeof(float)),
                        .pressure = run.pressure,
                        .exchange = run.exchange};
  const auto scores = [&] { return Scorer(detector, options, {benign}).scores(benign); };
  const auto as_they_are = scores();
  detector.facts.thresholds = thresholds_from(as_they_are);
  if (!detector.facts.unknown_ids_apart) return;
  options.unknown_vehicle = true;
  raise(detector.facts.thresholds, thresholds_from(scores()), as_they_are);
}

int64_t bytes_of_thresholds(std::span<const GraphShape> shapes, const Recipe& recipe,
                            const TrainingSplit& split) {
  const auto validation = static_cast<int64_t>(split.validation.size());
  const int64_t benign = validation - count_attacks(split.validation, shapes);
  const auto lists = static_cast<int64_t>(benign * sizeof(int64_t));
  const auto scores = static_cast<int64_t>(4 * benign * sizeof(float));
  if (can_sections(recipe).windows.features != WindowFeatures::behaviour) return lists + scores;
  const int64_t windows =
      (can_sections(recipe).gat.id_dropout > 0 ? 2 : 1) * std::min(benign, FurtherLevels::kMaxWindows);
  return lists + std::max(scores, windows * FurtherLevels::kWindowBytes);
}

}  // namespace plimsoll
