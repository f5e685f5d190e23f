#pragma once

#include <filesystem>

#include "base/json.h"
#include "cli/command.h"
#include "run/train_run.h"

namespace plimsoll {

/// Data of the report at the end of a run.
struct TrainReport {
  const TrainedRun* trained = nullptr;
  std::filesystem::path run;
  int threads = 1;
  Json enforced;
};

void print_report(const TrainReport& report, Budget& budget);
Json report_json(const TrainReport& report, Budget& budget);

}  // namespace plimsoll
