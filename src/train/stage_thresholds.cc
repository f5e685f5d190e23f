#include "train/stage_thresholds.h"

#include "train/detection_labels.h"
#include "train/scorer.h"

namespace plimsoll {
void set_thresholds(Detector& detector, const BlockSource& source, std::span<const GraphShape> shapes,
                    const Recipe& recipe, const TrainingSplit& split, const RunOptions& run) {
  const GraphList benign = benign_of(split.validation, shapes);
  const Recipe::Training::Block& block = recipe.training.block;
  Scorer scorer(detector,
                {.source = &source,
                 .shapes = shapes,
                 .limits = {block.graphs, block.nodes, block.edges},
                 .threads = run.threads,
                 .outside_ledger = run.outside_ledger,
                 .later = static_cast<int64_t>(2 * benign.size() * sizeof(float)),
                 .pressure = run.pressure},
                {benign});
  detector.facts.thresholds = thresholds_from(scorer.scores(benign));
}

}  // namespace plimsoll
