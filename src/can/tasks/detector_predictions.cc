#include <optional>

#include "base/error.h"
#include "can/detector/detector_file.h"
#include "can/recipe/can_sections.h"
#include "can/tasks/detector_training.h"
#include "can/tasks/scorer.h"
#include "can/tasks/unknown_id_evidence.h"
#include "can/tasks/unknown_ids.h"
#include "engine/fit/fit.h"
#include "nn/predictions.h"
#include "run/block_predictions.h"
#include "run/evaluation.h"

namespace plimsoll {
namespace {

// Predicts for each window the probability of an attack, and the input of the last layer.
void predict_classes(const Detector& detector, const WindowData& data, const PredictionRequest& request,
                     PredictionWriter& writer) {
  const Predictions says(*detector.gat, request.embeddings);
  std::optional<UnknownIdEvidence> with_evidence;
  if (detector.facts.unknown_ids_apart)
    with_evidence.emplace(says, unknown_ids(data.source().tables(), detector.facts.without).index);
  const Objective& objective = with_evidence ? static_cast<const Objective&>(*with_evidence) : says;
  predict_blocks(data.source(), objective, request, writer);
}

// Predicts for each window the reconstruction error.
void predict_errors(const Detector& detector, const WindowData& data, const PredictionRequest& request,
                    PredictionWriter& writer) {
  const auto shapes = read_shapes(data.source(), request.memory.threads);
  GraphList graphs(shapes.size());
  for (size_t g = 0; g < graphs.size(); ++g) graphs[g] = static_cast<int64_t>(g);
  Scorer scorer(detector,
                {.source = &data.source(),
                 .shapes = shapes,
                 .limits = limits_of(request.recipe.training),
                 .memory = request.memory,
                 .later = std::ssize(graphs) * int64_t{sizeof(float)},
                 .exchange = request.exchange,
                 .device = request.device,
                 .rehearsal = request.rehearsal},
                {graphs});
  if (request.rehearsal != nullptr) return;
  writer.append(scorer.scores(graphs));
}

}  // namespace

int64_t DetectorTask::predict(const PredictionRequest& request) const {
  require_kind(request.data, request.recipe, {"frames"});
  const Detector detector = load_detector(request.folder.root / kDetectorFile);
  Recipe recipe = request.recipe;
  recipe.data.without = detector.facts.without;
  can_sections(recipe).calibration.calibration = 0;
  const WindowData data(request.data, recipe, {.known = known_of(detector.facts)});
  const int64_t width = request.embeddings && detector.gat ? detector.gat->embedding() : 0;
  if (request.embeddings && !detector.gat)
    throw UsageError("an autoencoder has no embedding of a window; leave --embeddings out");
  const auto kind = detector.gat ? PredictionWriter::Kind::classes : PredictionWriter::Kind::values;
  PredictionWriter writer(request, {.kind = kind, .outputs = detector.gat ? 2 : 1, .embedding = width});
  if (detector.gat)
    predict_classes(detector, data, request, writer);
  else
    predict_errors(detector, data, request, writer);
  if (request.rehearsal != nullptr) return 0;
  return writer.publish("windows", data.identity());
}

}  // namespace plimsoll
