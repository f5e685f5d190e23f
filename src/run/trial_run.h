#pragma once

#include "run/train_run.h"

namespace plimsoll {

/// How fast a run goes, found by starting it.
struct TrialRun {
  double graphs_per_s = 0;  ///< that train; 0: too few steps were done
  int64_t training = 0;     ///< graphs of an epoch
  int64_t validation = 0;   ///< likewise
  double seconds = 0;       ///< of the whole run, where it was done before the time was up; else 0
};

/// Runs the first stage of `request` for so many seconds in a folder below `scratch`, which is removed.
/// Errors: those of train_run(); Interrupted if the request's own interrupt was set.
TrialRun try_run(const TrainRequest& request, double seconds, const std::filesystem::path& scratch);

/// Seconds that a run of these stages takes: each epoch trains and validates, where a validated graph counts
/// for half, at the rates that the plans expect, corrected by what the trial of the first stage found. 0:
/// not known.
double expected_seconds(const StagePlans& plans, const TrialRun& trial, int64_t epochs);

}  // namespace plimsoll
