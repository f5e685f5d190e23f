#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/run_comparison.h"
#include "telemetry/chart.h"
#include "telemetry/report.h"

namespace plimsoll {
namespace {

using Row = RunComparison::Row;

std::vector<std::string> headings_of(const RunComparison& comparison) {
  std::vector<std::string> headings{"<"};
  headings.insert(headings.end(), comparison.runs.begin(), comparison.runs.end());
  return headings;
}

// Returns one chart per stage: the validation loss of each run.
std::vector<Report::Figure> losses(const RunComparison& comparison) {
  std::vector<std::string> stages;
  for (const RunComparison::Curve& curve : comparison.validation_losses)
    if (std::ranges::find(stages, curve.stage) == stages.end()) stages.push_back(curve.stage);
  std::vector<Report::Figure> figures;
  for (const std::string& stage : stages) {
    LineChart chart;
    std::vector<double> all;
    double epochs = 2;
    for (const RunComparison::Curve& curve : comparison.validation_losses) {
      if (curve.stage != stage) continue;
      std::vector<ChartPoint> points;
      for (const double loss : curve.values) points.push_back({static_cast<double>(points.size() + 1), loss});
      epochs = std::max(epochs, static_cast<double>(points.size()));
      all.insert(all.end(), curve.values.begin(), curve.values.end());
      const auto colour = static_cast<int>(curve.run);
      chart.series.push_back({comparison.runs[curve.run],
                              {colour % Stroke::kColours, colour >= Stroke::kColours, false},
                              std::move(points),
                              false});
    }
    chart.x = {"epoch", 1, epochs, Axis::Scale::linear, false, true};
    chart.y = axis_over("validation loss", all);
    figures.push_back({stage, draw(chart)});
  }
  return figures;
}

// Returns a chart of the measured memory of each run and the largest budget.
Report::Figure memory(const RunComparison& comparison, const RunComparison::Section& section) {
  ByteBars chart{{}, "largest budget", std::nullopt};
  const auto row = [&](const char* name) {
    const auto found = std::ranges::find(section.rows, name, &Row::name);
    return found == section.rows.end() ? nullptr : &*found;
  };
  const Row* const floor = row("floor");
  const Row* const ledger = row("ledger's peak");
  const Row* const anonymous = row("anonymous peak");
  const Row* const budget = row("budget");
  for (size_t run = 0; run < comparison.runs.size(); ++run) {
    const auto bytes = [&](const Row* fact) -> std::optional<int64_t> {
      if (fact == nullptr || !fact->values[run].is_number_integer()) return std::nullopt;
      return fact->values[run].get<int64_t>();
    };
    ByteBars::Bar bar{comparison.runs[run], {}, bytes(anonymous)};
    if (const auto value = bytes(floor)) bar.parts.push_back({"floor", *value});
    if (const auto value = bytes(ledger)) bar.parts.push_back({"ledger's peak", *value});
    chart.bars.push_back(std::move(bar));
    if (const auto value = bytes(budget)) chart.limit = std::max(chart.limit.value_or(0), *value);
  }
  return {"Memory", draw(chart)};
}

}  // namespace

Markup comparison_page(const RunComparison& comparison) {
  Report report("Runs compared", fmt::format("{}", fmt::join(comparison.runs, ", ")));
  for (const RunComparison::Section& section : comparison.sections) {
    std::string title = section.name;
    title.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(title.front())));
    if (section.rows.empty() && section.name != "recipe") continue;
    report.section(title);
    if (section.name == "recipe")
      report.paragraph(section.rows.empty() ? "All keys are the same."
                                            : "Keys that differ between the runs.");
    if (section.name == "training") report.figures(losses(comparison));
    if (section.name == "memory") report.figures({memory(comparison, section)});
    Report::Table table{headings_of(comparison), {}};
    for (const Row& row : section.rows) {
      std::vector<std::string> cells{row.name};
      for (const Json& value : row.values) cells.push_back(text_of(value, row.unit));
      table.rows.push_back({std::move(cells)});
    }
    if (!table.rows.empty()) report.table(table);
  }
  return report.html();
}

}  // namespace plimsoll
