#include "cli/run_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/error.h"
#include "base/units.h"
#include "config/earlier_runs.h"
#include "io/file.h"
#include "telemetry/metrics_table.h"
#include "telemetry/table.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using Unit = RunComparison::Unit;
using Row = RunComparison::Row;

// The files of a run.
struct RunFiles {
  fs::path folder;
  Json manifest;
  std::vector<std::pair<std::string, std::string>> recipe;
  Json evaluation;                             // Null if there is none.
  std::map<std::string, MetricsTable> stages;  // Indexed by names such as "seed-42/gat".
};

std::map<std::string, MetricsTable> read_metrics(const fs::path& folder) {
  std::map<std::string, MetricsTable> stages;
  for (const auto& seed : fs::directory_iterator(folder)) {
    if (!seed.is_directory() || !seed.path().filename().string().starts_with("seed-")) continue;
    for (const auto& stage : fs::directory_iterator(seed))
      if (const fs::path csv = stage.path() / "metrics.csv"; fs::exists(csv))
        stages[fs::relative(stage.path(), folder).string()] = parse_metrics(read_text(csv));
  }
  return stages;
}

// A run that was trained in Python has settings instead of a recipe.
std::vector<std::pair<std::string, std::string>> settings_of(const fs::path& folder, const Json& manifest) {
  const Json settings = manifest.value("settings", Json());
  if (!settings.is_object()) return recipe_values(load_run_recipe(folder / "recipe.yaml"));
  std::vector<std::pair<std::string, std::string>> values;
  for (const auto& [key, value] : settings.items())
    values.emplace_back(key, value.is_string() ? value.get<std::string>() : value.dump());
  return values;
}

RunFiles read_run(const fs::path& folder) {
  RunFiles run{folder, {}, {}, {}, {}};
  if (fs::exists(folder / "manifest.json")) run.manifest = parse_json(read_text(folder / "manifest.json"));
  if (!run.manifest.is_object() || run.manifest.value("kind", Json()) != "run")
    throw InputError(folder.string() + ": is not a run; expected a folder that `plimsoll train` wrote");
  run.recipe = settings_of(folder, run.manifest);
  if (fs::exists(folder / "evaluation.json"))
    run.evaluation = parse_json(read_text(folder / "evaluation.json"));
  run.stages = read_metrics(folder);
  return run;
}

// Rows of a table with one column per run. The first run that has a value adds the row for it.
class Rows {
 public:
  explicit Rows(size_t runs) : runs_(runs) {}
  void add(size_t run, const std::string& name, const Json& value, Unit unit = Unit::text) {
    if (value.is_null()) return;
    auto row = std::ranges::find(rows_, name, &Row::name);
    if (row == rows_.end()) row = rows_.insert(row, {name, std::vector<Json>(runs_), unit});
    row->values[run] = value;
  }
  std::vector<Row> take() { return std::move(rows_); }

 private:
  size_t runs_;
  std::vector<Row> rows_;
};

Json at(const Json& json, const char* pointer) {
  const Json::json_pointer place(pointer);
  return json.contains(place) ? json.at(place) : Json();
}

void add_recipe(Rows& rows, size_t run, const RunFiles& files) {
  for (const auto& [key, value] : files.recipe) rows.add(run, key, value);
}

void add_training(Rows& rows, size_t run, const RunFiles& files) {
  for (const Json& stage : at(files.manifest, "/stages")) {
    const std::string name = fmt::format("seed {} {}: ", at(stage, "/seed").dump(), stage.value("stage", ""));
    rows.add(run, name + "training loss", at(stage, "/training_loss"), Unit::number);
    rows.add(run, name + "validation loss", at(stage, "/validation_loss"), Unit::number);
    rows.add(run, name + "best epoch", at(stage, "/best_epoch"), Unit::number);
    rows.add(run, name + "epochs", at(stage, "/epochs"), Unit::number);
    rows.add(run, name + "graphs/s", at(stage, "/graphs_per_s"), Unit::number);
    rows.add(run, name + "time", at(stage, "/seconds"), Unit::seconds);
  }
}

void add_memory(Rows& rows, size_t run, const RunFiles& files) {
  rows.add(run, "budget", at(files.manifest, "/budget_bytes"), Unit::bytes);
  rows.add(run, "floor", at(files.manifest, "/memory/floor_bytes"), Unit::bytes);
  rows.add(run, "ledger's peak", at(files.manifest, "/memory/ledger_peak_bytes"), Unit::bytes);
  rows.add(run, "anonymous peak", at(files.manifest, "/memory/anonymous_peak_bytes"), Unit::bytes);
  for (const Json& stage : at(files.manifest, "/stages")) {
    const std::string name = fmt::format("seed {} {}: ", at(stage, "/seed").dump(), stage.value("stage", ""));
    rows.add(run, name + "planned", at(stage, "/planned_peak_bytes"), Unit::bytes);
    rows.add(run, name + "measured", at(stage, "/measured_peak_bytes"), Unit::bytes);
    rows.add(run, name + "smallest budget", at(stage, "/min_budget_bytes"), Unit::bytes);
  }
}

// The fields that results of all tasks may have (docs/command-line.md).
void add_results(Rows& rows, size_t run, const std::string& split, const Json& models) {
  static constexpr auto kMetrics =
      std::to_array<const char*>({"loss", "accuracy", "f1", "micro_f1", "auc", "macro_auc", "pr_auc", "fpr",
                                  "precision", "recall", "mae", "rmse", "r2", "mrr", "average_precision"});
  for (const Json& model : models) {
    std::string name = split + ", " + model.value("name", "");
    if (const Json seed = at(model, "/seed"); seed.is_number()) name += " seed " + seed.dump();
    if (const Json rate = at(model, "/target_fpr"); rate.is_number())
      name += fmt::format(" at {:g} %", 100 * rate.get<double>());
    for (const char* metric : kMetrics)
      if (model.contains(metric)) rows.add(run, name + ": " + metric, model.at(metric), Unit::number);
  }
}

void add_evaluation(Rows& rows, size_t run, const RunFiles& files) {
  for (const Json& split : at(files.evaluation, "/splits"))
    if (split.contains("models")) add_results(rows, run, split.value("name", ""), split.at("models"));
}

void add_facts(Rows& rows, size_t run, const RunFiles& files) {
  const auto add = [&](const char* name, const char* pointer) {
    const Json value = at(files.manifest, pointer);
    rows.add(run, name, value.is_string() || value.is_null() ? value : Json(value.dump()));
  };
  add("weights", "/weights");
  add("identity of recipe and data", "/identity");
  add("parameters", "/parameters");
  add("threads", "/threads");
  add("build", "/build");
}

}  // namespace

bool Row::differs() const {
  return std::ranges::any_of(values, [&](const Json& value) { return value != values.front(); });
}

RunComparison compare_runs(const std::vector<fs::path>& folders) {
  if (folders.size() < 2) throw UsageError("compare needs at least two runs");
  RunComparison comparison;
  std::vector<RunFiles> runs;
  for (const fs::path& folder : folders) {
    runs.push_back(read_run(folder));
    comparison.runs.push_back(folder.lexically_normal().string());
  }
  const auto section = [&](const char* name, void (*add)(Rows&, size_t, const RunFiles&)) {
    Rows rows(runs.size());
    for (size_t run = 0; run < runs.size(); ++run) add(rows, run, runs[run]);
    comparison.sections.push_back({name, rows.take()});
  };
  section("recipe", add_recipe);
  std::erase_if(comparison.sections.front().rows, [](const Row& row) { return !row.differs(); });
  section("training", add_training);
  section("memory", add_memory);
  section("evaluation", add_evaluation);
  section("what was run", add_facts);
  for (size_t run = 0; run < runs.size(); ++run)
    for (const auto& [stage, metrics] : runs[run].stages)
      comparison.validation_losses.push_back({stage, run, metrics.column("validation_loss")});
  return comparison;
}

std::string text_of(const Json& value, Unit unit) {
  if (value.is_null()) return "-";
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_number()) return value.dump();
  if (unit == Unit::bytes) return format_bytes(value.get<int64_t>());
  if (unit == Unit::seconds) return format_seconds(value.get<double>());
  if (value.is_number_integer()) return format_count(value.get<int64_t>());
  const auto number = value.get<double>();
  return number >= 1000 ? format_count(static_cast<int64_t>(number)) : fmt::format("{:.5g}", number);
}

Json comparison_json(const RunComparison& comparison) {
  Json json = {{"runs", comparison.runs}};
  for (const RunComparison::Section& section : comparison.sections) {
    Json rows = Json::object();
    for (const Row& row : section.rows) rows[row.name] = row.values;
    json[section.name] = std::move(rows);
  }
  return json;
}

std::string comparison_text(const RunComparison& comparison) {
  std::string text;
  for (const RunComparison::Section& section : comparison.sections) {
    if (section.rows.empty()) {
      if (section.name == "recipe") text += "recipe: the same\n\n";
      continue;
    }
    std::vector<std::string> headings{"<" + section.name};
    headings.insert(headings.end(), comparison.runs.begin(), comparison.runs.end());
    headings.emplace_back("<");
    Table table(headings);
    for (const Row& row : section.rows) {
      std::vector<std::string> cells{row.name};
      for (const Json& value : row.values) cells.push_back(text_of(value, row.unit));
      cells.emplace_back(row.differs() ? "" : "same");
      table.add(std::move(cells));
    }
    text += table.text() + "\n";
  }
  return text;
}

}  // namespace plimsoll
