#include "can/tasks/learn_fusion.h"

#include <algorithm>

#include "can/detector/fusion.h"
#include "can/recipe/can_sections.h"
#include "can/tasks/detection_labels.h"
#include "can/tasks/detector_training.h"
#include "can/tasks/fused_scores.h"
#include "can/tasks/scorer.h"
#include "can/tasks/stage_thresholds.h"

namespace plimsoll {
namespace {

// A window needs memory for its row and its excess; its score has been freed by then.
static_assert(FurtherLevels::kWindowBytes >= kFusedParts * sizeof(float) + sizeof(double));

// Selects at most FurtherLevels::kMaxWindows graphs, spread evenly over the list. Eight of this maximum are
// then above the alarm level.
GraphList enough_of(std::span<const int64_t> graphs) {
  const auto count = std::ssize(graphs);
  const int64_t kept = std::min<int64_t>(count, FurtherLevels::kMaxWindows);
  GraphList some;
  some.reserve(static_cast<size_t>(kept));
  for (int64_t i = 0; i < kept; ++i) some.push_back(graphs[static_cast<size_t>(i * count / kept)]);
  return some;
}

}  // namespace

void learn_fusion(const std::filesystem::path& model, const WindowData& data, const Recipe& recipe,
                  const RunOptions& run) {
  if (can_sections(recipe).windows.features != WindowFeatures::behaviour) return;
  const auto shapes = read_shapes(data.source(), run.memory.threads);
  const TrainingSplit split = detection_split(recipe, data);
  const GraphList benign = enough_of(benign_of(split.validation, shapes));
  const int64_t windows = std::ssize(benign);
  Detector detector = load_detector(model);
  const BlockSection& block = recipe.training.block;
  ScorerOptions options{.source = &data.source(),
                        .shapes = shapes,
                        .limits = {block.graphs, block.nodes, block.edges},
                        .memory = run.memory,
                        .later = windows * static_cast<int64_t>(sizeof(float))};
  FusedRows rows;
  const bool other_vehicles = can_sections(recipe).gat.id_dropout > 0;
  rows.add_empty(other_vehicles ? 2 * windows : windows);
  const auto add_scores = [&](int64_t first) {
    const auto scores = Scorer(detector, options, {benign}).scores(benign);
    for (int64_t w = 0; w < windows; ++w)
      rows.row(first + w)[FusedRows::kGat] = scores[static_cast<size_t>(w)];
  };
  read_statistics(data.windows(), benign, false, [&](int64_t w, const ProfileStatistics& statistics) {
    std::ranges::copy(statistics, rows.row(w).begin());
  });
  add_scores(0);
  if (other_vehicles) {
    // Statistics of another vehicle are 0.
    for (int64_t w = windows; w < rows.size(); ++w) std::ranges::fill(rows.row(w).first(kStatistics), 0.0F);
    options.unknown_vehicle = true;
    add_scores(windows);
  }
  NamedTensors learned = Fusion::learn(rows).tensors();
  for (const auto& [name, tensor] : *detector.facts.benign) learned.try_emplace(name, tensor);
  detector.facts.benign = std::make_shared<const NamedTensors>(std::move(learned));
  save_detector(model, detector);
}

}  // namespace plimsoll
