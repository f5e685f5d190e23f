#pragma once

#include "run/run_request.h"
#include "run/run_stages.h"

namespace plimsoll {

/// The speed of a run, measured by starting it.
struct TrialRun {
  double graphs_per_s = 0;  ///< Training graphs per second; 0 if too few steps were done.
  int64_t training = 0;     ///< Training graphs per epoch.
  int64_t validation = 0;   ///< Validation graphs per epoch.
  double seconds = 0;       ///< Duration of the run if it finished within the trial; otherwise 0.
};

/// Runs the first stage of `request` for `seconds` seconds, in a folder below `scratch` that is removed
/// afterwards. Errors: those of train_run(); Interrupted if the request's own interrupt was set.
TrialRun try_run(const RunRequest& request, double seconds, const std::filesystem::path& scratch);

/// Returns the expected duration of a run of these stages in seconds; 0: unknown. A validated graph counts as
/// half a training graph. The speeds of the plans are scaled by the measured speed of the first stage.
double expected_seconds(const StagePlans& plans, const TrialRun& trial, int64_t epochs);

}  // namespace plimsoll
