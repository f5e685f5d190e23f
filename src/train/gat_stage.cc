#include "train/gat_stage.h"

#include <fmt/format.h>

#include <algorithm>

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

std::vector<Threshold> set_thresholds(BlockEngine& engine, const GraphList& validation,
                                      std::span<const GraphShape> shapes) {
  GraphList benign;
  std::copy_if(validation.begin(), validation.end(), std::back_inserter(benign),
               [&](int64_t g) { return shapes[static_cast<size_t>(g)].label == 0; });
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

}  // namespace

GatStageResult train_gat(const GatStageOptions& options) {
  const Recipe& recipe = *options.recipe;
  const BlockSource& source = *options.source;
  const auto shapes = read_shapes(source, options.run.threads);

  GatStageResult result;
  require_two_labels(shapes);
  result.training_attacks = count_attacks(options.split->training, shapes);
  const auto training = static_cast<int64_t>(options.split->training.size());
  if (result.training_attacks == 0 || result.training_attacks == training)
    throw InputError(fmt::format("{} of {} training windows hold an attack: a classifier needs both kinds",
                                 result.training_attacks, training));

  result.detector.model =
      std::make_unique<GATWithJK>(model_options(recipe, source), static_cast<uint64_t>(recipe.seed));
  const Classification objective(*result.detector.model);
  result.fit = fit({&source, shapes, &objective, &recipe, options.split, options.run});

  result.weights_hash = objective.parameters().hash();
  result.detector.vocabulary = source.tables().vocabulary;
  result.detector.benign_ids = options.benign_ids;
  result.detector.trained_on = options.split->contents;
  const BlockLimits limits{recipe.training.block.graphs, recipe.training.block.nodes,
                           recipe.training.block.edges};
  BlockEngine engine(source, shapes, objective, limits, result.fit.flight);
  result.detector.thresholds = set_thresholds(engine, options.split->validation, shapes);
  save_model(options.run.folder / "model.safetensors", result.detector);
  return result;
}

}  // namespace plimsoll
