#include "run/block_predictions.h"

#include <numeric>

#include "engine/blocks/shared_prediction.h"
#include "engine/fit/fit.h"
#include "engine/plan/planned_engine.h"

namespace plimsoll {

void predict_blocks(const BlockSource& source, const Objective& objective, const PredictionRequest& request,
                    PredictionWriter& writer) {
  const auto shapes = read_shapes(source, request.memory.threads);
  GraphList graphs(static_cast<size_t>(source.graphs()));
  std::iota(graphs.begin(), graphs.end(), int64_t{0});
  const BlockLimits limits = limits_of(request.recipe.training);
  PlannedEngine engine(
      {.source = &source,
       .shapes = shapes,
       .objective = &objective,
       .limits = limits,
       .memory = request.memory,
       .predicted = {graphs},
       .later = bytes_to_predict_on_ranks(objective, shapes, limits, {graphs}, ranks_of(request.exchange))},
      request.device, request.rehearsal);
  if (request.rehearsal != nullptr) return;
  const int64_t items = engine->items(graphs);
  int64_t done = 0;
  predict_on_ranks(*engine, request.exchange, graphs, [&](std::span<const float> outputs) {
    writer.append(outputs);
    done += std::ssize(outputs) / objective.outputs();
    request.progress(done, items);
  });
}

}  // namespace plimsoll
