#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/json.h"
#include "run/run_identity.h"
#include "run/run_request.h"
#include "run/run_stages.h"

namespace plimsoll {

/// Facts about a run that are known before it trains.
struct RunFacts {
  Json data;             ///< Identity of the data set.
  Json read;             ///< Result of check_data().
  std::string identity;  ///< identity_of().
  Json roundings;        ///< How each process of the run rounded, this one last.
  Json enforced = {};    ///< How the kernel holds the process to the budget; null if it does not.
  EarlierRun earlier = {};
};

/// The manifest of a run that trains (docs/formats/run.md). Only this class writes it. Each process adds an
/// entry to "starts" when it ends. Not thread-safe.
class RunManifest {
 public:
  /// Records that the process starts now. `request` must outlive the manifest.
  RunManifest(const RunRequest& request, RunFacts facts);

  /// Writes the whole manifest in its current state. Errors: Failure.
  void write() const;
  /// Records that the process ends early, and writes the manifest. Write errors are ignored so that the
  /// original error is reported.
  void end_early();
  /// Adds the results of the stages that trained, and of `main`, the stage whose model is the run's result
  /// (may be null). Writes the manifest of a finished run. Errors: Failure.
  void finish(const std::vector<TrainedStage>& trained, const TrainedStage* main);

 private:
  void end(const char* ended);

  const RunRequest& request_;
  const Json earlier_stages_;
  const Json earlier_starts_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  Json json_;
};

/// Returns graphs per second over all epochs, including validation; 0 if nothing was trained.
double graphs_per_second(const StageReport& report);

/// Returns the entry "stages" of the manifest.
Json stages_json(const std::vector<TrainedStage>& stages);

/// Returns the seeds of a run.
std::vector<int64_t> seeds_of(const RunRequest& request);

}  // namespace plimsoll
