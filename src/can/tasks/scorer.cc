#include "can/tasks/scorer.h"

#include <fmt/format.h>

#include "base/error.h"
#include "can/tasks/unknown_id_evidence.h"
#include "can/tasks/unknown_ids.h"
#include "engine/blocks/shared_prediction.h"
#include "engine/plan/planner.h"
#include "nn/classification.h"
#include "nn/reconstruction.h"
#include "nn/reconstruction_errors.h"

namespace plimsoll {
namespace {

void require_features(const Detector& detector, const BlockSource& source) {
  const int64_t nodes =
      detector.gat ? detector.gat->options().in_features : detector.vgae->options().in_features;
  const int64_t edges =
      detector.gat ? detector.gat->options().edge_features : detector.vgae->options().edge_features;
  if (nodes == source.node_features() && (edges == 0 || edges == source.edge_features())) return;
  throw InputError(
      fmt::format("the detector was trained on {} node features and {} edge features, the data has {} and "
                  "{}: data.features and data.without of its recipe say how to make them",
                  nodes, edges, source.node_features(), source.edge_features()));
}

PlanInput input_for(const ScorerOptions& options, const Objective& objective,
                    const std::vector<std::span<const int64_t>>& lists) {
  return {.source = options.source,
          .shapes = options.shapes,
          .objective = &objective,
          .limits = options.limits,
          .memory = options.memory,
          .predicted = lists,
          .later = options.later + bytes_to_predict_on_ranks(objective, options.shapes, options.limits, lists,
                                                             ranks_of(options.exchange))};
}

}  // namespace

ScoringObjective::ScoringObjective(const Detector& detector, const ScorerOptions& options) {
  require_features(detector, *options.source);
  if (detector.gat)
    layers_.push_back(std::make_unique<Classification>(*detector.gat));
  else
    layers_.push_back(std::make_unique<ReconstructionErrors>(*detector.vgae));
  const UnknownIds unknown = unknown_ids(options.source->tables(), detector.facts.without);
  if (detector.facts.unknown_ids_apart)
    layers_.push_back(std::make_unique<UnknownIdEvidence>(*layers_.back(), unknown.index));
  if (options.unknown_vehicle)
    layers_.push_back(std::make_unique<IdDropout>(*layers_.back(), unknown, /*share=*/1, /*always=*/true));
}

MemoryPlan plan_scores(const Detector& detector, const ScorerOptions& options,
                       const std::vector<std::span<const int64_t>>& lists) {
  const ScoringObjective objective(detector, options);
  return make_plan(input_for(options, *objective, lists));
}

Scorer::Scorer(const Detector& detector, const ScorerOptions& options,
               const std::vector<std::span<const int64_t>>& lists)
    : rebuilds_(detector.vgae != nullptr),
      objective_(detector, options),
      exchange_(options.exchange),
      engine_(input_for(options, *objective_, lists), options.device, options.rehearsal) {
  if (options.pressure != nullptr && options.rehearsal == nullptr)
    engine_->runner().watch(options.pressure, [](const BlockRunner::Event&) {});
}

Vector<float, Tag::columns> Scorer::scores(std::span<const int64_t> graphs) {
  Vector<float, Tag::columns> scores;
  scores.reserve(graphs.size());
  const ReconstructionWeights weights;
  const auto width = static_cast<size_t>(objective_->outputs());
  predict_on_ranks(*engine_, exchange_, graphs, [&](std::span<const float> outputs) {
    for (; !outputs.empty(); outputs = outputs.subspan(width)) {
      if (rebuilds_)
        scores.push_back(outputs[0] + static_cast<float>(weights.id) * outputs[1] +
                         static_cast<float>(weights.neighbours) * outputs[2]);
      else
        scores.push_back(outputs[1] - outputs[0]);
    }
  });
  return scores;
}

}  // namespace plimsoll
