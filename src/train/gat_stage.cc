#include "train/gat_stage.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "nn/classification.h"
#include "train/attack_scores.h"
#include "train/block_engine.h"
#include "train/metrics.h"

namespace plimsoll {
namespace {

GATWithJKOptions model_options(const Recipe& recipe, const BlockSource& source) {
  return {.num_ids = static_cast<int64_t>(source.tables().vocabulary.size()) + 1,
          .in_features = source.node_features(),
          .embedding = recipe.gat.embedding,
          .layers = recipe.gat.layers,
          .hidden = recipe.gat.hidden,
          .heads = recipe.gat.heads,
          .dropout = recipe.gat.dropout,
          .fc_layers = recipe.gat.fc_layers};
}

void require_two_labels(std::span<const GraphShape> shapes) {
  for (size_t g = 0; g < shapes.size(); ++g)
    if (shapes[g].label != 0 && shapes[g].label != 1)
      throw InputError(fmt::format("graph {} has the label {}; a detector knows 0, benign, and 1, attack", g,
                                   shapes[g].label));
}

int64_t count_attacks(const GraphList& graphs, std::span<const GraphShape> shapes) {
  return std::count_if(graphs.begin(), graphs.end(),
                       [&](int64_t g) { return shapes[static_cast<size_t>(g)].label == 1; });
}

std::vector<Threshold> set_thresholds(BlockEngine& engine, const GraphList& benign) {
  const auto scores = attack_scores(engine, benign);
  std::vector<Threshold> thresholds;
  for (const double rate : {0.01, 0.001}) {
    const float level = threshold_at_rate(scores, rate);
    const auto above =
        std::count_if(scores.begin(), scores.end(), [&](float score) { return score > level; });
    thresholds.push_back({rate, static_cast<double>(above) / static_cast<double>(scores.size()), level});
  }
  return thresholds;
}

// The stage, ready to begin.
struct Stage {
  explicit Stage(const GatStageOptions& options) : shapes(read_shapes(*options.source, options.run.threads)) {
    require_two_labels(shapes);
    training_attacks = count_attacks(options.split->training, shapes);
    const auto training = static_cast<int64_t>(options.split->training.size());
    if (training_attacks == 0 || training_attacks == training)
      throw InputError(fmt::format(
          "{} of {} training windows hold an attack, and a classifier needs both kinds; add {} to the splits "
          "that train",
          training_attacks, training,
          training_attacks == 0 ? "recordings of attacks" : "attack-free recordings"));
    std::ranges::copy_if(options.split->validation, std::back_inserter(benign),
                         [&](int64_t g) { return shapes[static_cast<size_t>(g)].label == 0; });
    if (benign.empty())
      throw InputError(fmt::format(
          "none of the {} validation windows is benign, and thresholds are taken from benign ones; raise "
          "split.validation or add attack-free recordings",
          options.split->validation.size()));
    std::optional<WithoutData> without_data;
    if (options.run.without_data) without_data.emplace();
    detector.model = std::make_unique<GATWithJK>(model_options(*options.recipe, *options.source),
                                                 static_cast<uint64_t>(options.recipe->seed));
    objective.emplace(*detector.model);
    fit = {.source = options.source,
           .shapes = shapes,
           .objective = &*objective,
           .recipe = options.recipe,
           .split = options.split,
           .predicted = {benign},
           .run = options.run};
  }

  Vector<GraphShape, Tag::columns> shapes;
  int64_t training_attacks = 0;
  GraphList benign;  // of validation
  DetectorModel detector;
  std::optional<Classification> objective;
  FitOptions fit;
};

}  // namespace

MemoryPlan plan_gat(const GatStageOptions& options) {
  return plan_fit(Stage(options).fit);
}

GatStageResult train_gat(const GatStageOptions& options) {
  Stage stage(options);
  GatStageResult result;
  result.training_attacks = stage.training_attacks;
  result.fit = fit(stage.fit);
  result.weights_hash = stage.objective->parameters().hash();
  stage.detector.vocabulary = options.source->tables().vocabulary;
  stage.detector.benign_ids = options.benign_ids;
  stage.detector.benign = options.benign;
  stage.detector.without = options.recipe->data.without;
  stage.detector.trained_on = options.split->contents;
  const Recipe::Training& training = options.recipe->training;
  BlockEngine engine(*options.source, stage.shapes, *stage.objective,
                     {training.block.graphs, training.block.nodes, training.block.edges},
                     result.fit.plan.flight);
  stage.detector.thresholds = set_thresholds(engine, stage.benign);
  save_model(options.run.folder / "model.safetensors", stage.detector);
  result.detector = std::move(stage.detector);
  return result;
}

}  // namespace plimsoll
