#include "can/detector/evaluation_options.h"

#include "base/error.h"
#include "can/detector/detector_file.h"
#include "io/replaceable.h"

namespace plimsoll {

void DetectorEvaluationOptions::refuse(std::string_view task) const {
  const auto for_detectors = [&](const char* options) {
    return UsageError(std::string(options) + " for detectors; this run's task is " + std::string(task));
  };
  if (!compare.empty() || !scores.empty()) throw for_detectors("--compare and --scores are");
  if (!attention.empty()) throw for_detectors("--attention is");
  if (calibrate > 0 || ablation) throw for_detectors("--calibrate and --ablation are");
}

void DetectorEvaluationOptions::protect(const std::filesystem::path& run,
                                        std::vector<std::filesystem::path> sources) const {
  sources.insert(sources.end(), {compare, run / kDetectorFile});
  require_no_source(scores, sources);
}

std::vector<std::pair<std::string, std::string>> DetectorEvaluationOptions::facts() const {
  return {{"--calibrate", std::to_string(calibrate)}, {"--ablation", ablation ? "given" : "not given"}};
}

}  // namespace plimsoll
