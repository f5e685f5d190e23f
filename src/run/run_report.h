#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "memory/tape_profile.h"
#include "telemetry/report.h"

namespace plimsoll {

/// The records of a run's training, for the report.
struct RunRecord {
  /// The losses of a stage by epoch, from metrics.csv.
  struct Losses {
    std::string stage;
    int64_t seed = 0;
    std::vector<std::string> names;           ///< Names such as "training".
    std::vector<std::vector<double>> values;  ///< Values by name, then by epoch.
  };
  /// Memory of a stage, in bytes: the plan, the measured peak, and the budget.
  struct Memory {
    std::string stage;
    int64_t planned_peak = 0;
    std::vector<std::pair<std::string, int64_t>> breakdown;  ///< Parts of the planned peak; may be empty.
    std::optional<int64_t> measured_peak;
    int64_t budget = 0;
  };

  std::string name;
  std::vector<std::pair<std::string, std::string>> facts;  ///< Names and values, such as version and seed.
  std::vector<Losses> losses;
  std::vector<Memory> memory;
  TapeProfile by_module;   ///< Memory of the worst block by module; empty if it is unknown.
  std::string recipe;      ///< YAML.
  std::string job_report;  ///< Text of `plimsoll job-report`; may be empty.
};

/// Adds the parts of a report that every run has: losses, memory, recipe and versions.
void add_run(Report& report, const RunRecord& run);

}  // namespace plimsoll
