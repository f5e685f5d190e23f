#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "engine/fit/fit.h"

namespace plimsoll {

/// The result of a stage.
struct StageReport {
  std::string stage;
  std::string weights;     ///< Hash of the weights; empty for a stage that computes a column.
  int64_t parameters = 0;  ///< Number of trained numbers in the model.
  /// Number of graphs used for training and validation, or number of graphs in a column; for one giant graph,
  /// number of seeds.
  int64_t graphs = 0;
  std::string unit = "graphs";  ///< Name of what `graphs` counts.
  FitResult fit;                ///< For a stage that computes a column, only the plan is set.
  double seconds = 0;
  int64_t measured_peak = 0;  ///< Maximum anonymous memory of the process during the stage, in bytes.
  bool was_there = false;     ///< Whether the column of an earlier run was reused.
};

/// A step of a run: it trains one model, or computes a column with one. It reads the results of earlier
/// stages from their files, so that it can run alone.
struct Stage {
  std::string name;
  std::string folder;  ///< Folder for the model, checkpoints and journal, relative to that of the seed.
  /// Plans the memory of the stage. Nothing is written, and no result of an earlier stage is read. Errors:
  /// those of plan_fit().
  std::function<MemoryPlan(const RunOptions&)> plan;
  /// Runs the stage. The caller sets seconds and measured_peak. Errors: those of fit(); InputError if an
  /// earlier stage has not run.
  std::function<StageReport(const RunOptions&)> run;
};

}  // namespace plimsoll
