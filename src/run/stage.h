#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "engine/fit/fit.h"

namespace plimsoll {

/// What became of a stage.
struct StageReport {
  std::string stage;
  std::string weights;  ///< hash; empty for a stage that computes a column
  int64_t parameters = 0;
  int64_t graphs = 0;  ///< that train and validate, or that a column is about; of one giant graph seeds
  std::string unit = "graphs";
  FitResult fit;  ///< of a column its plan alone
  double seconds = 0;
  int64_t measured_peak = 0;  ///< bytes: the highest anonymous memory of the process since it began
  bool was_there = false;     ///< a column of an earlier run, which stays
};

/// A step of a run: the training of one model, or a column that one computes. What it needs of earlier stages
/// it reads from the files that they left, so that it can be run alone.
struct Stage {
  std::string name;
  std::string folder;  ///< below that of the seed, for its model, checkpoints and journal
  /// Which memory it would need and get. Nothing is written, and nothing of earlier stages is read. Errors:
  /// as plan_fit().
  std::function<MemoryPlan(const RunOptions&)> plan;
  /// Runs it; seconds and measured_peak are the caller's to fill in. Errors: as fit(); InputError where an
  /// earlier stage has left nothing.
  std::function<StageReport(const RunOptions&)> run;
};

}  // namespace plimsoll
