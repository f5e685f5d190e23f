#pragma once

#include "run/run_request.h"
#include "run/run_stages.h"

namespace plimsoll {

/// The speed of a run, measured by starting it.
struct TrialRun {
  double graphs_per_s = 0;  ///< Graphs processed per second; 0 if too few steps were done.
  int64_t training = 0;     ///< Training graphs per epoch.
  int64_t validation = 0;   ///< Validation graphs per epoch.
  double seconds = 0;       ///< Duration of the run if it finished within the trial; otherwise 0.
};

/// Trains one seed of `request` from the start until `seconds` seconds after its first progress report, or to
/// its end, in a folder below `scratch` that is removed afterwards. request.observer gets no reports. The
/// speed is that of the first stage if this takes `seconds` seconds or more. Errors: those of train_run();
/// Interrupted if the request's own interrupt was set.
TrialRun try_run(const RunRequest& request, double seconds, const std::filesystem::path& scratch);

/// Returns the expected duration of a run of these stages in seconds; 0: unknown. A validated graph counts as
/// half a training graph. The speeds of the plans are scaled by the measured speed of the first stage.
double expected_seconds(const StagePlans& plans, const TrialRun& trial, int64_t epochs);

}  // namespace plimsoll
