#pragma once

#include <filesystem>

#include "base/json.h"
#include "cli/command.h"
#include "run/train_run.h"

namespace plimsoll {

/// The facts that are reported after training.
struct TrainReport {
  const TrainedRun* trained = nullptr;  ///< Must be set.
  std::filesystem::path run;            ///< The folder of the run.
  int threads = 1;
  Json enforced;  ///< The result of EngineSession::enforced().
};

/// Prints the report to stdout: of one model in detail, of several as a table. Names damaged checkpoints that
/// were skipped on stderr.
void print_report(const TrainReport& report, Budget& budget);
/// Returns the object that `train --json` prints (docs/command-line.md).
Json report_json(const TrainReport& report, Budget& budget);

}  // namespace plimsoll
