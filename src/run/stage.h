#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "engine/fit/fit.h"

namespace plimsoll {

/// The result of a stage.
struct StageReport {
  std::string stage;
  std::string weights;  ///< Hash; empty for a stage that computes a column.
  int64_t parameters = 0;
  /// Number of graphs that train and validate, or that a column has; for one giant graph, of seeds.
  int64_t graphs = 0;
  std::string unit = "graphs";
  FitResult fit;  ///< For a column only its plan is set.
  double seconds = 0;
  int64_t measured_peak = 0;  ///< Maximum anonymous memory of the process during the stage, in bytes.
  bool was_there = false;     ///< True if the column of an earlier run was used.
};

/// A step of a run: trains one model, or computes a column with one. It reads the results of earlier stages
/// from their files, so that it can run alone.
struct Stage {
  std::string name;
  std::string folder;  ///< Folder below that of the seed, for the model, checkpoints and journal.
  /// Plans the memory of the stage. Nothing is written, and nothing of earlier stages is read. Errors: those
  /// of plan_fit().
  std::function<MemoryPlan(const RunOptions&)> plan;
  /// Runs the stage. The caller fills in seconds and measured_peak. Errors: those of fit(); InputError if an
  /// earlier stage has not run.
  std::function<StageReport(const RunOptions&)> run;
};

}  // namespace plimsoll
