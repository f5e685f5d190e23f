#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/json.h"
#include "run/run_identity.h"
#include "run/run_request.h"
#include "run/run_stages.h"

namespace plimsoll {

/// What a run knows of itself before it trains.
struct RunFacts {
  Json data;             ///< Identity of the data set.
  Json read;             ///< What check_data() returned.
  std::string identity;  ///< identity_of().
  Json roundings;        ///< How each process of the run rounded, this one last.
  Json enforced = {};    ///< How the kernel holds the process to the budget; null: it does not.
  EarlierRun earlier = {};
};

/// The manifest of a run that trains (docs/formats/run.md), and its only writer. Each process adds an entry
/// to "starts" when it ends. Not thread-safe.
class RunManifest {
 public:
  /// The process starts now. `request` must outlive the manifest.
  RunManifest(const RunRequest& request, RunFacts facts);

  /// Writes the manifest as it is, whole. Errors: Failure.
  void write() const;
  /// Records and writes that the process ends early. Write errors are ignored so that the original error is
  /// reported.
  void end_early();
  /// Adds the results of the stages that trained, and of `main`, whose model is the run's result; it may be
  /// null. Writes the manifest of a run that is done. Errors: Failure.
  void finish(const std::vector<TrainedStage>& trained, const TrainedStage* main);

 private:
  void end(const char* ended);

  const RunRequest& request_;
  const Json earlier_stages_;
  const Json earlier_starts_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  Json json_;
};

/// Graphs per second over all epochs, validation included; 0 if nothing was trained.
double graphs_per_second(const StageReport& report);

/// The entry "stages" of the manifest.
Json stages_json(const std::vector<TrainedStage>& stages);

/// The seeds of a run.
std::vector<int64_t> seeds_of(const RunRequest& request);

}  // namespace plimsoll
