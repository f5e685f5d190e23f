#pragma once

#include "run/run_request.h"
#include "run/run_stages.h"

namespace plimsoll {

/// The speed of a run, measured by starting it.
struct TrialRun {
  double graphs_per_s = 0;  ///< Training graphs per second; 0 if too few steps were done.
  int64_t training = 0;     ///< Training graphs per epoch.
  int64_t validation = 0;   ///< Validation graphs per epoch.
  double seconds = 0;       ///< Duration of the whole run if it finished in time; otherwise 0.
};

/// Runs the first stage of `request` for `seconds` seconds, in a folder below `scratch` that is removed
/// afterwards. Errors: those of train_run(); Interrupted if the request's own interrupt was set.
TrialRun try_run(const RunRequest& request, double seconds, const std::filesystem::path& scratch);

/// Returns the expected seconds of a run of these stages; 0: unknown. Each epoch trains and validates, where
/// a validated graph counts half, at the speeds of the plans, corrected by the measured speed of the first
/// stage.
double expected_seconds(const StagePlans& plans, const TrialRun& trial, int64_t epochs);

}  // namespace plimsoll
