#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"
#include "telemetry/markup.h"

namespace plimsoll {

/// Runs side by side.
struct RunComparison {
  enum class Unit : uint8_t { text, number, seconds, bytes };
  /// One row: a value for each run.
  struct Row {
    std::string name;
    std::vector<Json> values;  ///< One per run; null if the run does not have this value.
    Unit unit = Unit::text;
    bool differs() const;  ///< Whether the runs have different values.
  };
  struct Section {
    std::string name;
    std::vector<Row> rows;
  };
  /// A column of metrics.csv by epoch.
  struct Curve {
    std::string stage;           ///< Name such as "seed-42/gat".
    size_t run = 0;              ///< Index into `runs`.
    std::vector<double> values;  ///< One per epoch.
  };

  std::vector<std::string> runs;  ///< Their folders.
  /// "recipe" (only differences), "training", "memory", "evaluation" and "what was run", in this order.
  std::vector<Section> sections;
  std::vector<Curve> validation_losses;
};

/// Reads manifest, recipe, metrics and evaluation of each run. Errors: UsageError for fewer than two;
/// InputError that names a folder that is not a run.
RunComparison compare_runs(const std::vector<std::filesystem::path>& folders);

/// Formats a value as readable text, such as "12.3 MiB"; null becomes "-".
std::string text_of(const Json& value, RunComparison::Unit unit);
/// Returns {"runs": [...], SECTION: {ROW: [a value per run], ...}, ...}.
Json comparison_json(const RunComparison& comparison);
/// Returns a table per section that has rows.
std::string comparison_text(const RunComparison& comparison);
/// Returns the comparison as a page (telemetry/report.h).
Markup comparison_page(const RunComparison& comparison);

}  // namespace plimsoll
