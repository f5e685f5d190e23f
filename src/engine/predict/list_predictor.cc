#include "engine/predict/list_predictor.h"

#include <algorithm>

#include "engine/blocks/shared_prediction.h"

namespace plimsoll {

PlannedEngine engine_for(const EvaluationInput& input, const Objective& objective, int64_t later) {
  std::vector<std::span<const int64_t>> predicted;
  for (const NamedGraphList& list : input.lists) predicted.emplace_back(list.graphs);
  return PlannedEngine({.source = &input.source,
                        .shapes = input.shapes,
                        .objective = &objective,
                        .limits = input.limits,
                        .memory = input.memory,
                        .predicted = predicted,
                        .later = later + bytes_to_predict_on_ranks(objective, input.shapes, input.limits,
                                                                   predicted, ranks_of(input.exchange))},
                       input.device, input.rehearsal);
}

// The outputs are allocated before the plan, which counts them as held.
ListPredictor::ListPredictor(const EvaluationInput& input, const Objective& objective,
                             const std::vector<size_t>& outputs, int64_t later)
    : lists_(input.lists),
      outputs_(outputs),
      buffer_(outputs.empty() ? 0 : std::ranges::max(outputs)),
      exchange_(input.exchange),
      rehearses_(input.rehearsal != nullptr),
      engine_(engine_for(input, objective, later)) {
  if (rehearses_) std::ranges::fill(buffer_, 0.0F);
}

ListPredictor::Prediction ListPredictor::predict(size_t list) {
  const std::span<float> outputs = std::span(buffer_).first(outputs_[list]);
  if (rehearses_) return {0, outputs};
  return {predict_on_ranks(*engine_, exchange_, lists_[list].graphs, outputs), outputs};
}

}  // namespace plimsoll
