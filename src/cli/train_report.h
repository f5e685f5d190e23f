#pragma once

#include <filesystem>
#include <string>

#include "base/json.h"
#include "cli/command.h"
#include "cli/train_stages.h"

namespace plimsoll {

/// What is told of a run at its end.
struct TrainReport {
  const Trained* trained = nullptr;
  std::filesystem::path run;
  std::filesystem::path model;  ///< of a distillation the detector that was chosen
  int threads = 1;
  double seconds = 0;
  Json enforced;
};

void print_report(const TrainReport& report, Budget& budget);
Json report_json(const TrainReport& report, Budget& budget);

/// Entry "stages" of the run's manifest.
Json stages_json(const Trained& trained);

}  // namespace plimsoll
