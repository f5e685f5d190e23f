#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "memory/tape_profile.h"
#include "telemetry/report.h"

namespace plimsoll {

/// What a run left beside its verdicts, as the report shows it.
struct RunRecord {
  /// The losses of a stage by epoch: metrics.csv.
  struct Losses {
    std::string stage;
    int64_t seed = 0;
    std::vector<std::string> names;           ///< "training loss", ...
    std::vector<std::vector<double>> values;  ///< by name, then by epoch from 1
  };
  /// Memory of a stage: what was planned, what the kernel was seen to count, and what it had to stay within.
  struct Memory {
    std::string stage;
    int64_t planned_peak = 0;
    std::vector<std::pair<std::string, int64_t>> breakdown;  ///< of the planned peak; may be empty
    std::optional<int64_t> measured_peak;
    int64_t budget = 0;
  };

  std::string name;
  std::vector<std::pair<std::string, std::string>> facts;  ///< versions, data, limits: name and text
  std::vector<Losses> losses;
  std::vector<Memory> memory;
  TapeProfile by_module;   ///< of the worst block; without modules where it is not known
  std::string recipe;      ///< as YAML
  std::string job_report;  ///< as `plimsoll job-report` prints it; may be empty
};

/// Adds the parts of a report that every run has: losses, memory, what was run.
void add_run(Report& report, const RunRecord& run);

}  // namespace plimsoll
