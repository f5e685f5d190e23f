#include "run/run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/units.h"
#include "telemetry/chart.h"

namespace plimsoll {
namespace {

std::vector<ChartPoint> by_epoch(const std::vector<double>& values) {
  std::vector<ChartPoint> points;
  for (size_t epoch = 0; epoch < values.size(); ++epoch)
    points.push_back({static_cast<double>(epoch + 1), values[epoch]});
  return points;
}

// Draws one chart per stage, for all seeds together.
void add_losses(Report& report, const std::vector<RunRecord::Losses>& losses) {
  std::vector<std::string> stages;
  for (const RunRecord::Losses& run : losses)
    if (std::ranges::find(stages, run.stage) == stages.end()) stages.push_back(run.stage);
  std::vector<Report::Figure> figures;
  for (const std::string& stage : stages) {
    LineChart chart;
    std::vector<double> all;
    double epochs = 2;
    std::vector<std::string> names;  // Each name has one colour for all seeds.
    for (const RunRecord::Losses& run : losses) {
      if (run.stage != stage) continue;
      for (size_t n = 0; n < run.names.size(); ++n) {
        const auto known = std::ranges::find(names, run.names[n]);
        const auto colour = static_cast<int>(known - names.begin());
        const bool first = known == names.end();
        if (first) names.push_back(run.names[n]);
        chart.series.push_back(
            {first ? run.names[n] : "", {colour, colour % 2 == 1, !first}, by_epoch(run.values[n]), false});
        all.insert(all.end(), run.values[n].begin(), run.values[n].end());
        epochs = std::max(epochs, static_cast<double>(run.values[n].size()));
      }
    }
    chart.x = {"epoch", 1, epochs, Axis::Scale::linear, false, true};
    chart.y = axis_over("loss", all);
    figures.push_back({stage, draw(chart)});
  }
  if (figures.empty()) return;
  report.section("Training");
  report.paragraph(
      "The loss of each stage by epoch. The training loss is measured with dropout, while the weights "
      "change. Seeds other than the first are thin lines.");
  report.figures(figures);
}

void add_memory(Report& report, const std::vector<RunRecord::Memory>& stages) {
  if (stages.empty()) return;
  report.section("Memory");
  report.paragraph(
      "The planned peak of each stage, its measured peak, and the budget that neither may exceed. If there "
      "are several seeds, the one with the highest planned peak is shown.");
  Report::Table table{{"<stage", "planned peak", "measured peak", "measured / planned"}, {}};
  ByteBars chart{{}, "budget", stages.front().budget};
  for (const RunRecord::Memory& stage : stages) {
    std::vector<ByteBars::Part> parts;
    for (const auto& [part, bytes] : stage.breakdown)
      if (bytes > 0) parts.push_back({part, bytes});
    if (parts.empty()) parts.push_back({"planned", stage.planned_peak});
    chart.bars.push_back({stage.stage, std::move(parts), stage.measured_peak});
    std::vector<std::string> row = {stage.stage, format_bytes(stage.planned_peak), "-", "-"};
    if (stage.measured_peak) {
      row[2] = format_bytes(*stage.measured_peak);
      row[3] = fmt::format("{:.1f} %", 100.0 * static_cast<double>(*stage.measured_peak) /
                                           static_cast<double>(std::max<int64_t>(stage.planned_peak, 1)));
    }
    table.rows.push_back({std::move(row)});
  }
  report.figures({{"Planned peaks", draw(chart)}});
  report.table(table);
}

// Shows the worst block of the plan, by the modules of the model.
void add_by_module(Report& report, const TapeProfile& profile) {
  if (profile.at_peak.empty()) return;
  const auto name_of = [](const std::string& module) { return module.empty() ? "no module" : module; };
  report.heading("By module");
  report.paragraph(fmt::format(
      "The worst block of the stage with the highest planned peak: how much memory each module of the model "
      "holds at the block's peak of {} in {}, and from its first allocation to its last free.",
      format_bytes(profile.peak), profile.operation));
  const auto mib = [](int64_t bytes) { return static_cast<double>(bytes) / static_cast<double>(kMiB); };
  StackedAreas chart;
  chart.x = {"allocations and frees", 0,     std::max(1.0, static_cast<double>(profile.events)),
             Axis::Scale::linear,     false, true};
  chart.y = {"MiB", 0, mib(profile.peak) * 1.05 + 1e-9, Axis::Scale::linear};
  chart.at.assign(profile.at.begin(), profile.at.end());
  for (size_t m = 0; m < profile.modules.size(); ++m) {
    StackedAreas::Series series{name_of(profile.modules[m]), {}};
    for (const int64_t bytes : profile.series[m]) series.values.push_back(mib(bytes));
    if (std::ranges::any_of(series.values, [](double value) { return value > 0; }))
      chart.series.push_back(std::move(series));
  }
  report.figures({{"Memory of the worst block", draw(chart)}});
  Report::Table table{{"<module", "at the peak", "share"}, {}};
  for (const auto& [module, bytes] : profile.at_peak)
    table.rows.push_back({{name_of(module), format_bytes(bytes),
                           fmt::format("{:.1f} %", 100 * mib(bytes) / std::max(mib(profile.peak), 1e-9))}});
  report.table(table);
}

}  // namespace

void add_run(Report& report, const RunRecord& run) {
  add_losses(report, run.losses);
  add_memory(report, run.memory);
  add_by_module(report, run.by_module);
  if (!run.job_report.empty()) {
    report.section("Job report");
    report.preformatted(run.job_report);
  }
  report.section("What was run");
  Report::Table facts{{"<", "<"}, {}};
  for (const auto& [name, text] : run.facts) facts.rows.push_back({{name, text}});
  if (!facts.rows.empty()) report.table(facts);
  report.begin_details("recipe.yaml");
  report.preformatted(run.recipe);
  report.end_details();
}

}  // namespace plimsoll
