#include "can/tasks/detector_stage.h"

#include <utility>

#include "can/tasks/stage_thresholds.h"

namespace plimsoll {

StageReport report_of(const char* stage, StageResult result, const TrainingSplit& split) {
  StageReport report;
  report.stage = stage;
  report.weights = result.weights_hash;
  report.parameters = result.detector.parameters().count();
  report.graphs = static_cast<int64_t>(split.training.size() + split.validation.size());
  report.fit = std::move(result.fit);
  return report;
}

StageResult DetectorStage::train(const BlockSource& source) {
  StageResult result;
  result.fit = plimsoll::fit(fit);
  result.weights_hash = detector.parameters().hash();
  set_thresholds(detector, source, fit.shapes.stored(), recipe, *fit.split, fit.run);
  if (fit.run.writes()) save_detector(fit.run.folder / "model.safetensors", detector);
  result.detector = std::move(detector);
  return result;
}

}  // namespace plimsoll
