#include "cli/train_verb.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/units.h"
#include "base/version.h"
#include "cli/data_check.h"
#include "cli/enforced.h"
#include "cli/interrupt.h"
#include "cli/learn_fusion.h"
#include "cli/plan_verb.h"
#include "cli/run_folder.h"
#include "cli/run_lock.h"
#include "cli/train_report.h"
#include "cli/train_stages.h"
#include "cli/training_data.h"
#include "io/file.h"
#include "memory/limits.h"
#include "store/safetensors.h"
#include "telemetry/progress.h"
#include "train/stage_memory.h"
#include "train/warm_up.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

// What the weights depend on. A run may be made longer, checkpoints more frequent, and layers recomputed; but
// the stages of a distillation learn from where earlier ones ended, so it cannot be made longer.
std::string identity_of(Recipe recipe, const TrainingData& data) {
  const Recipe::Training defaults;
  // A longer teacher would be another teacher, of whom students have begun to learn.
  if (recipe.task != "distillation") {
    recipe.training.max_epochs = defaults.max_epochs;
    recipe.training.patience = defaults.patience;
  }
  recipe.training.checkpoint_every_s = defaults.checkpoint_every_s;
  recipe.memory = {};
  recipe.training.gradient_checkpointing = defaults.gradient_checkpointing;
  const std::string text = recipe_yaml(recipe) + data.identity().dump();
  Hasher hasher;
  hasher.add(text.data(), text.size());
  return hasher.hex64();
}

// Those of a distillation follow each other.
std::vector<int64_t> seeds_of(const Recipe& recipe, const TrainOptions& options) {
  std::vector<int64_t> seeds;
  for (int64_t i = 0; i < options.seeds; ++i) seeds.push_back(recipe.seed + i);
  return seeds;
}

Json run_manifest(const TrainingData& data, Json read, const Recipe& recipe, const std::string& identity,
                  const TrainOptions& options, const Budget& budget) {
  return {{"kind", "run"},
          {"tool", std::string("plimsoll ") + kVersion},
          {"build", build_id()},
          {"data", data.identity()},
          {"read", std::move(read)},
          {"identity", identity},
          {"seed", recipe.seed},
          {"seeds", seeds_of(recipe, options)},
          {"threads", options.resources.thread_count()},
          {"budget_bytes", budget.bytes()},
          {"limits", limits_json(find_limits())}};
}

// What the run was made from, by its manifest, or where that is damaged by a checkpoint that is whole.
std::string identity_of_run(const RunFolder& folder) {
  if (FileSystem::disk().exists(folder.manifest())) {
    const Json manifest = parse_json(read_text(folder.manifest()));
    if (manifest.is_object() && manifest.value("identity", Json()).is_string())
      return manifest.at("identity");
  }
  for (const fs::path& checkpoint : checkpoints_of(folder)) {
    try {
      const std::string identity = SafetensorsView(checkpoint).meta("plimsoll.identity");
      fmt::print(stderr, "plimsoll: {} is missing or damaged; {} tells what the run was made from\n",
                 folder.manifest().string(), checkpoint.string());
      return identity.substr(0, identity.find(' '));
    } catch (const InputError&) {
    }
  }
  throw InputError(
      folder.manifest().string() +
      " is missing or damaged, and no checkpoint tells what the run was made from; start again with --force "
      "in place of --resume");
}

// Before anything of the run is touched.
void require_same_run(const RunFolder& folder, const std::string& identity) {
  if (identity_of_run(folder) == identity) return;
  throw UsageError(
      folder.root.string() +
      " holds a run of another recipe or other data; name another --run, or start again with --force "
      "in place of --resume");
}

// The detector of a distillation: the distilled GAT that validates best.
const TrainedStage& chosen(const Trained& trained) {
  const TrainedStage* best = nullptr;
  for (const TrainedStage& stage : trained.stages)
    if (stage.report.stage == "student_gat" &&
        (best == nullptr || stage.report.fit.best_loss < best->report.fit.best_loss))
      best = &stage;
  return *best;
}

// The levels of the fused scores of detectors, on windows as `detect` makes them of a known vehicle, which
// take the place of those that trained.
void learn_fusions(const Trained& trained, const RunFolder& folder, const fs::path& folder_of_data,
                   std::optional<TrainingData>& data, Recipe recipe, const RunOptions& run) {
  if (recipe.data.calibration > 0) {
    recipe.data.calibration = 0;
    data.emplace(folder_of_data, recipe);
  }
  for (const TrainedStage& stage : trained.stages) {
    if (stage.report.stage != "gat" && stage.report.stage != "student_gat") continue;
    RunOptions beside = run;
    std::optional<StageMemory> memory;
    if (!trained.is_one_model()) beside.outside_ledger += memory.emplace(run.outside_ledger).left();
    learn_fusion(folder.seed(stage.seed) / stage.report.stage / "model.safetensors", *data, recipe, beside);
  }
}

// Puts a copy of a stage's model where `detect` looks for it.
void publish_detector(const fs::path& model, const RunFolder& folder) {
  const MappedFile file(model);
  replace_file(folder.detector(), [&](File& copy) { copy.write(file.bytes().data(), file.bytes().size()); });
}

const MemoryPlan& largest_plan(const Trained& trained) {
  const auto largest = std::ranges::max_element(
      trained.stages, {}, [](const TrainedStage& stage) { return stage.report.fit.plan.peak; });
  return largest->report.fit.plan;
}

// Bytes of the scratch file, if they are given.
std::optional<int64_t> scratch_of(const TrainOptions& options) {
  if (options.scratch.empty()) return std::nullopt;
  return options.scratch == "0" ? 0 : parse_size(options.scratch, 0);
}

// `run` has what is known before the data are read; run.begun is called when what follows needs no more.
void train_within(Budget& budget, const TrainOptions& options, const Recipe& recipe, RunOptions run) {
  const Stopwatch watch;
  PressureWatch pressure;
  const std::unique_ptr<Enforcement> enforcement =
      enforce(options.enforce, budget, run.threads + threads_that_read(options.data));
  const RunFolder folder{options.run};
  Json read =
      check_data(options.data, folder,
                 {.full = options.verify == "full", .resume = options.resume, .interrupt = run.interrupt});
  std::optional<TrainingData> data(std::in_place, options.data, recipe, LearnedBefore{}, CalibrationFold::all,
                                   scratch_of(options));

  const std::string identity = identity_of(recipe, *data);
  std::optional<NewRun> fresh;
  std::optional<RunLock> lock;
  if (options.resume && holds_a_run(folder)) {
    lock.emplace(folder.root);
    require_same_run(folder, identity);
  } else {
    fresh.emplace(folder, options.force);
  }
  // The manifest first: it marks the folder as a run.
  Json manifest = run_manifest(*data, std::move(read), recipe, identity, options, budget);
  if (enforcement) manifest["enforced"] = enforced_json(enforcement.get());
  write_text(folder.manifest(), manifest.dump(1) + "\n");
  write_text(folder.recipe(), recipe_yaml(recipe));
  const char* const what = is_about_attacks(recipe)        ? "windows"
                           : data->neighbours() != nullptr ? "blocks"
                                                           : "graphs";
  std::optional<Progress> progress;
  run.resume = options.resume;
  run.pressure = &pressure;
  Trained trained;
  const auto progress_of = [&](const std::string& title) {
    progress.emplace(title, what);
    return [&](int64_t done, int64_t total, const std::string& note) { progress->update(done, total, note); };
  };
  try {
    trained = train_stages(*data, recipe,
                           {.folder = &folder,
                            .seeds = seeds_of(recipe, options),
                            .run = run,
                            .identity = identity,
                            .progress_of = progress_of});
    if (is_about_attacks(recipe)) learn_fusions(trained, folder, options.data, data, recipe, run);
  } catch (...) {
    progress.reset();
    if (fresh && !checkpoints_of(folder).empty()) fresh->commit();  // it can be resumed
    throw;
  }
  progress.reset();

  const TrainedStage& detector = trained.is_one_model() ? trained.stages.front() : chosen(trained);
  const fs::path model = folder.seed(detector.seed) / detector.report.stage / "model.safetensors";
  if (is_about_attacks(recipe)) publish_detector(model, folder);
  manifest["parameters"] = detector.report.parameters;
  manifest["best_epoch"] = detector.report.fit.best_epoch;
  manifest["weights"] = detector.report.weights;
  manifest["plan"] = plan_json(largest_plan(trained));
  manifest["stages"] = stages_json(trained);
  manifest["memory"] = budget.report_json();
  write_text(folder.manifest(), manifest.dump(1) + "\n");
  if (fresh) fresh->commit();
  const TrainReport report{.trained = &trained,
                           .run = options.run,
                           .model = trained.is_one_model() ? model : folder.detector(),
                           .threads = run.threads,
                           .seconds = watch.seconds(),
                           .enforced = enforced_json(enforcement.get())};
  if (options.json)
    fmt::print("{}\n", report_json(report, budget).dump());
  else
    print_report(report, budget);
}

}  // namespace

void run_train(const TrainOptions& options) {
  const std::atomic<bool>& interrupt = catch_interrupts();
  const Recipe recipe = load_recipe(options.recipe, options.overrides);
  if (options.seeds > 1 && recipe.task != "distillation")
    throw UsageError("--seeds is for task distillation; give each run of '" + recipe.task + "' its own seed");
  const int threads = options.resources.thread_count();
  warm_up_torch(threads);
  Budget budget(options.resources, 0, kHeapSlack, /*may_be_below=*/true);
  bool begun = false;
  const RunOptions run{.folder = {},
                       .identity = {},
                       .threads = threads,
                       .prefetch = options.prefetch,
                       .outside_ledger = budget.outside_ledger(),
                       .interrupt = &interrupt,
                       .begun = [&] { begun = true; }};
  if (budget.is_below_floor())
    require_feasible(decisive(plan_beyond_budget(options.data, recipe, run, budget, nullptr)));
  try {
    // Whether it can be done is known before anything is made.
    if (recipe.memory.estimation == "static")
      require_feasible(decisive(plan_without_data(options.data, recipe, run)));
    train_within(budget, options, recipe, run);
  } catch (const BudgetExceeded& refusal) {
    if (begun) throw;
    require_feasible(decisive(plan_beyond_budget(options.data, recipe, run, budget, &refusal)));
  }
}

}  // namespace plimsoll
