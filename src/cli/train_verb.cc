#include "cli/train_verb.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/units.h"
#include "base/version.h"
#include "cli/enforced.h"
#include "cli/interrupt.h"
#include "cli/plan_verb.h"
#include "cli/run_folder.h"
#include "cli/training_data.h"
#include "io/file.h"
#include "memory/limits.h"
#include "telemetry/progress.h"
#include "train/classification_stage.h"
#include "train/gat_stage.h"
#include "train/warm_up.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

// What a stage leaves to be told, whatever it trained.
struct Trained {
  FitResult fit;
  std::string weights;
  int64_t parameters = 0;
  int64_t graphs = 0;  // that train and validate
  std::string model;   // in words
  std::string on;      // what it was trained on, in words
};

// What the weights depend on. A run may be made longer, checkpoints more frequent, and layers recomputed.
std::string identity_of(Recipe recipe, const TrainingData& data) {
  const Recipe::Training defaults;
  recipe.training.max_epochs = defaults.max_epochs;
  recipe.training.patience = defaults.patience;
  recipe.training.checkpoint_every_s = defaults.checkpoint_every_s;
  recipe.memory = {};
  recipe.training.gradient_checkpointing = defaults.gradient_checkpointing;
  const std::string text = recipe_yaml(recipe) + data.identity().dump();
  Hasher hasher;
  hasher.add(text.data(), text.size());
  return hasher.hex64();
}

int64_t graphs_of(const TrainingSplit& split) {
  return static_cast<int64_t>(split.training.size() + split.validation.size());
}

Trained train_detector(const TrainingData& data, const Recipe& recipe, const RunOptions& run) {
  const TrainingSplit split = detection_split(recipe, data);
  const GatStageResult result =
      train_gat({.source = &data.source(),
                 .recipe = &recipe,
                 .split = &split,
                 .benign_ids = training_ids(*data.frames(), true, {.leave_out = recipe.split.leave_out}),
                 .benign = data.benign(split),
                 .run = run});
  return {result.fit,
          result.weights_hash,
          result.detector.model->parameters().count(),
          graphs_of(split),
          "GAT",
          fmt::format("{} windows ({} with attacks) of {} recordings, validated on {}; {} copies left out",
                      format_count(static_cast<int64_t>(split.training.size())),
                      format_count(result.training_attacks), split.used.size(),
                      format_count(static_cast<int64_t>(split.validation.size())), split.copies.size())};
}

Trained train_classes(const TrainingData& data, const Recipe& recipe, const RunOptions& run) {
  const auto shapes = read_shapes(data.source(), run.threads);
  const TrainingSplit split = split_for(recipe, data.source(), shapes);
  const ClassificationResult result = train_classifier({.source = &data.source(),
                                                        .shapes = shapes,
                                                        .recipe = &recipe,
                                                        .split = &split,
                                                        .data = data.identity_hash(),
                                                        .run = run});
  return {result.fit,
          result.weights_hash,
          result.trained.model->parameters().count(),
          graphs_of(split),
          recipe.gnn.conv,
          fmt::format("{} graphs, validated on {}, {} left for a test",
                      format_count(static_cast<int64_t>(split.training.size())),
                      format_count(static_cast<int64_t>(split.validation.size())),
                      format_count(static_cast<int64_t>(split.test.size())))};
}

Json run_manifest(const TrainingData& data, const Recipe& recipe, const std::string& identity,
                  const TrainOptions& options, const Budget& budget) {
  return {{"kind", "run"},
          {"tool", std::string("plimsoll ") + kVersion},
          {"build", build_id()},
          {"data", data.identity()},
          {"identity", identity},
          {"seed", recipe.seed},
          {"threads", options.resources.thread_count()},
          {"budget_bytes", budget.bytes()},
          {"limits", limits_json(find_limits())}};
}

// Before anything of the run is touched.
void require_same_run(const RunFolder& folder, const std::string& identity) {
  const Json manifest = parse_json(read_text(folder.manifest()));
  if (manifest.value("identity", "") == identity) return;
  throw UsageError(
      folder.root.string() +
      " holds a run of another recipe or other data; name another --run, or start again with --force "
      "in place of --resume");
}

bool has_checkpoint(const fs::path& stage) {
  const fs::path folder = stage / "checkpoints";
  if (!fs::exists(folder)) return false;
  return std::ranges::any_of(fs::directory_iterator(folder), [](const fs::directory_entry& entry) {
    return entry.path().filename().string().starts_with("step-");
  });
}

// Over all epochs, validation included.
double graphs_per_second(const Trained& trained) {
  double seconds = 0;
  for (const EpochMetrics& epoch : trained.fit.epochs) seconds += epoch.seconds;
  return static_cast<double>(trained.graphs) * static_cast<double>(trained.fit.epochs.size()) / seconds;
}

void report(const Trained& trained, const TrainOptions& options, const fs::path& model, Budget& budget,
            const Json& enforced, const Stopwatch& watch, double rate) {
  const FitResult& fit = trained.fit;
  for (const std::string& name : fit.damaged)
    fmt::print(stderr, "plimsoll: passed over a damaged checkpoint: {}\n", name);
  const EpochMetrics& best = fit.epochs[static_cast<size_t>(fit.best_epoch) - 1];
  if (options.json) {
    const Json summary = {{"run", options.run.string()},
                          {"model", model.string()},
                          {"weights", trained.weights},
                          {"parameters", trained.parameters},
                          {"epochs", fit.epochs.size()},
                          {"best_epoch", fit.best_epoch},
                          {"training_loss", best.training_loss},
                          {"validation_loss", best.validation_loss},
                          {"seconds", watch.seconds()},
                          {"graphs_per_s", rate},
                          {"steps", fit.steps},
                          {"resumed_at", fit.resumed_at},
                          {"damaged", fit.damaged},
                          {"blocks_in_flight", fit.plan.flight.blocks},
                          {"range_bytes", fit.plan.worst.range_bytes},
                          {"slab_bytes", fit.plan.flight.slab_bytes},
                          {"recompute", fit.plan.flight.recompute},
                          {"prefetch", fit.plan.flight.prefetch},
                          {"reruns", fit.reruns},
                          {"sheds", fit.sheds},
                          {"overflows", fit.overflows},
                          {"unforeseen", fit.unforeseen},
                          {"planned_peak_bytes", fit.plan.peak},
                          {"planned_heap_bytes", fit.plan.heap},
                          {"enforced", enforced},
                          {"memory", budget.report_json()}};
    fmt::print("{}\n", summary.dump());
    return;
  }
  fmt::print("trained on {}\n", trained.on);
  if (fit.resumed_at > 0) fmt::print("went on behind step {}\n", format_count(fit.resumed_at));
  fmt::print("{} with {} parameters: best of {} epochs is {}, loss {:.5f}, validation {:.5f}\n",
             trained.model, format_count(trained.parameters), fit.epochs.size(), fit.best_epoch,
             best.training_loss, best.validation_loss);
  fmt::print("{} ({} graphs/s in epochs), {} of {} blocks in flight at once, each in {}\n{}\n",
             format_seconds(watch.seconds()), format_count(static_cast<int64_t>(rate)),
             fit.plan.flight.blocks, options.resources.thread_count(),
             format_bytes(fit.plan.worst.range_bytes), budget.report());
  fmt::print("planned: {} bytes ({}), {}; smallest budget {}\n", format_count(fit.plan.peak),
             format_bytes(fit.plan.peak), fit.plan.exact ? "exact" : "not exact: " + fit.plan.why_inexact,
             format_bytes(fit.plan.min_budget));
  if (fit.unforeseen > 0)
    fmt::print("blocks whose tensors were not as planned: {}\n", format_count(fit.unforeseen));
  if (fit.reruns > 0)
    fmt::print("blocks that ran again alone to stay within the budget: {}\n", format_count(fit.reruns));
  if (fit.sheds > 0)
    fmt::print("times that memory was given back because the system was short of it: {}\n",
               format_count(fit.sheds));
  if (fit.overflows > 0)
    fmt::print("tensors that found no room in their block's range: {}\n", format_count(fit.overflows));
  fmt::print("weights {}\n{}\n", trained.weights, model.string());
}

}  // namespace

namespace {

// `run` has what is known before the data are read; run.begun is called when what follows needs no more.
void train_within(Budget& budget, const TrainOptions& options, const Recipe& recipe, RunOptions run) {
  const Stopwatch watch;
  PressureWatch pressure;
  const std::unique_ptr<Enforcement> enforcement = enforce(options.enforce, budget, run.threads);
  const TrainingData data(options.data, recipe);

  const RunFolder folder{options.run};
  const std::string identity = identity_of(recipe, data);
  std::optional<NewRun> fresh;
  if (options.resume && holds_a_run(folder)) {
    require_same_run(folder, identity);
  } else {
    fresh.emplace(folder, options.force);
  }
  // The manifest first: it marks the folder as a run.
  Json manifest = run_manifest(data, recipe, identity, options, budget);
  if (enforcement) manifest["enforced"] = enforced_json(enforcement.get());
  write_text(folder.manifest(), manifest.dump(1) + "\n");
  write_text(folder.recipe(), recipe_yaml(recipe));
  const fs::path stage = folder.stage(recipe);
  make_folders(stage);

  std::optional<Progress> progress(std::in_place, "train " + stage.filename().string(),
                                   recipe.task == "detection" ? "windows" : "graphs");
  run.folder = stage;
  run.identity = identity;
  run.resume = options.resume;
  run.pressure = &pressure;
  run.progress = [&](int64_t done, int64_t total, const std::string& note) {
    progress->update(done, total, note);
  };
  Trained trained;
  try {
    trained =
        recipe.task == "detection" ? train_detector(data, recipe, run) : train_classes(data, recipe, run);
  } catch (...) {
    if (fresh && has_checkpoint(stage)) fresh->commit();  // it can be resumed
    throw;
  }
  progress.reset();
  manifest["parameters"] = trained.parameters;
  manifest["best_epoch"] = trained.fit.best_epoch;
  manifest["weights"] = trained.weights;
  manifest["plan"] = plan_json(trained.fit.plan);
  write_text(folder.manifest(), manifest.dump(1) + "\n");
  if (fresh) fresh->commit();
  report(trained, options, folder.model(recipe), budget, enforced_json(enforcement.get()), watch,
         graphs_per_second(trained));
}

}  // namespace

void run_train(const TrainOptions& options) {
  const std::atomic<bool>& interrupt = catch_interrupts();
  const Recipe recipe = load_recipe(options.recipe, options.overrides);
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
    require_feasible(plan_beyond_budget(options.data, recipe, run, budget, nullptr));
  try {
    // Whether it can be done is known before anything is made.
    if (recipe.memory.estimation == "static") require_feasible(plan_without_data(options.data, recipe, run));
    train_within(budget, options, recipe, run);
  } catch (const BudgetExceeded& refusal) {
    if (begun) throw;
    require_feasible(plan_beyond_budget(options.data, recipe, run, budget, &refusal));
  }
}

}  // namespace plimsoll
