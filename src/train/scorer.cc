#include "train/scorer.h"

#include <fmt/format.h>

#include "base/error.h"
#include "nn/classification.h"
#include "nn/reconstruction.h"
#include "nn/reconstruction_errors.h"
#include "nn/unknown_ids_apart.h"
#include "train/unknown_ids.h"

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
                  "{}: data.features "
                  "and data.without of its recipe say how to make them",
                  nodes, edges, source.node_features(), source.edge_features()));
}

MemoryPlan plan_for(const ScorerOptions& options, const Objective& objective,
                    const std::vector<std::span<const int64_t>>& lists) {
  return make_plan({.source = options.source,
                    .shapes = options.shapes,
                    .objective = &objective,
                    .limits = options.limits,
                    .threads = options.threads,
                    .predicted = lists,
                    .outside_ledger = options.outside_ledger,
                    .later = options.later,
                    .cap = options.cap});
}

}  // namespace

std::unique_ptr<Objective> scoring_objective(const Detector& detector) {
  if (detector.gat) return std::make_unique<Classification>(*detector.gat);
  return std::make_unique<ReconstructionErrors>(*detector.vgae);
}

MemoryPlan plan_scores(const Detector& detector, const ScorerOptions& options,
                       const std::vector<std::span<const int64_t>>& lists) {
  require_features(detector, *options.source);
  return plan_for(options, *scoring_objective(detector), lists);
}

Scorer::Scorer(const Detector& detector, const ScorerOptions& options,
               const std::vector<std::span<const int64_t>>& lists)
    : rebuilds_(detector.vgae != nullptr),
      model_((require_features(detector, *options.source), scoring_objective(detector))),
      apart_(detector.facts.unknown_ids_apart
                 ? std::make_unique<UnknownIdsApart>(*model_, unknown_ids(options.source->tables()).index)
                 : nullptr),
      objective_(std::make_unique<IdDropout>(
          apart_ ? *apart_ : *model_, unknown_ids(options.source->tables()), 0, options.unknown_vehicle)),
      plan_(plan_for(options, *objective_, lists)),
      engine_(*options.source, options.shapes, *objective_, options.limits, require_feasible(plan_)) {
  if (options.pressure != nullptr) engine_.runner().watch(options.pressure, [](const BlockRunner::Event&) {});
}

Vector<float, Tag::columns> Scorer::scores(std::span<const int64_t> graphs) {
  Vector<float, Tag::columns> scores;
  scores.reserve(graphs.size());
  const ReconstructionWeights weights;
  const auto width = static_cast<size_t>(objective_->outputs());
  engine_.predict(graphs, [&](std::span<const float> outputs) {
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
