#include "cli/learn_fusion.h"

#include <limits>

#include "cli/fused_scores.h"
#include "detect/fusion.h"
#include "ingest/profile_statistics.h"
#include "train/detection_labels.h"
#include "train/scorer.h"

namespace plimsoll {
namespace {

// Rows of windows: their statistics, and what the model says.
void add_rows(FusedRows& rows, std::span<const float> statistics, std::span<const float> gat) {
  const size_t place = kStatistics;  // "gat" stands behind the statistics
  std::vector<float> row(fused_parts().size(), std::numeric_limits<float>::quiet_NaN());
  for (size_t i = 0; i < gat.size(); ++i) {
    std::copy_n(statistics.begin() + static_cast<ptrdiff_t>(i * kStatistics), kStatistics, row.begin());
    row[place] = gat[i];
    rows.add(row);
  }
}

}  // namespace

void learn_fusion(const std::filesystem::path& model, const TrainingData& data, const Recipe& recipe,
                  const RunOptions& run) {
  if (recipe.data.features != "behaviour") return;
  const auto shapes = read_shapes(data.source(), run.threads);
  const TrainingSplit split = detection_split(recipe, data);
  const GraphList benign = benign_of(split.validation, shapes);
  Detector detector = load_detector(model);
  const Recipe::Training::Block& block = recipe.training.block;
  ScorerOptions options{.source = &data.source(),
                        .shapes = shapes,
                        .limits = {block.graphs, block.nodes, block.edges},
                        .threads = run.threads,
                        .outside_ledger = run.outside_ledger};
  const auto scores = [&](bool unknown_vehicle) {
    options.unknown_vehicle = unknown_vehicle;
    return Scorer(detector, options, {benign}).scores(benign);
  };
  FusedRows rows;
  add_rows(rows, statistics_of(*data.windows(), benign), scores(false));
  // Of another vehicle statistics say nothing.
  if (recipe.gat.id_dropout > 0)
    add_rows(rows, Vector<float, Tag::columns>(benign.size() * kStatistics, 0.0F), scores(true));
  NamedTensors learned = *detector.facts.benign;
  learned.merge(Fusion::learn(rows).tensors());
  detector.facts.benign = std::make_shared<const NamedTensors>(std::move(learned));
  save_detector(model, detector);
}

}  // namespace plimsoll
