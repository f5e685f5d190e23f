#include "can/detector/evaluation_options.h"
#include "cli/number_checks.h"
#include "cli/verbs.h"

namespace plimsoll {

std::shared_ptr<const TaskOptions> add_evaluate_can(CLI::App& evaluate) {
  auto options = std::make_shared<DetectorEvaluationOptions>();
  evaluate
      .add_option("--compare", options->compare,
                  "Detectors: compare with published results from FILE; docs/published has such files")
      ->type_name("FILE");
  evaluate
      .add_option("--scores", options->scores, "Detectors: write the score of every window to FILE as CSV")
      ->type_name("FILE");
  evaluate
      .add_option(
          "--attention", options->attention,
          "GAT detectors: write the IDs, the edges and the attention by layer and head of every window to "
          "this folder")
      ->type_name("DIR");
  evaluate
      .add_option(
          "--calibrate", options->calibrate,
          "Detectors: calibrate on each recording's first WINDOWS benign windows (at most a third of its "
          "windows) and evaluate only the others; 0: do not calibrate; default: data.calibration of the "
          "recipe")
      ->check(at_least(0))
      ->type_name("WINDOWS");
  evaluate.add_flag(
      "--ablation", options->ablation,
      "Detectors, with calibration: also evaluate the fused score with each of its parts left out in turn");
  return options;
}

}  // namespace plimsoll
