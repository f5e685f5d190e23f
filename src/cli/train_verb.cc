#include "cli/train_verb.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/json.h"
#include "base/units.h"
#include "base/version.h"
#include "cli/run_folder.h"
#include "ingest/windows.h"
#include "io/file.h"
#include "memory/limits.h"
#include "telemetry/progress.h"
#include "train/gat_stage.h"
#include "train/preflight.h"

namespace plimsoll {
namespace {

Json run_manifest(const FramesView& frames, const Recipe& recipe, const TrainOptions& options,
                  const Budget& budget, const GatStageResult& result) {
  return {{"kind", "run"},
          {"tool", std::string("plimsoll ") + kVersion},
          {"build", build_id()},
          {"data", frames.identity()},
          {"seed", recipe.seed},
          {"threads", options.resources.thread_count()},
          {"budget_bytes", budget.bytes()},
          {"limits", limits_json(find_limits())},
          {"parameters", result.detector.model->parameters().count()},
          {"best_epoch", result.best_epoch},
          {"weights", result.weights_hash}};
}

}  // namespace

void run_train(const TrainOptions& options) {
  const Stopwatch watch;
  const Recipe recipe = load_recipe(options.recipe, options.overrides);
  const int threads = options.resources.thread_count();
  warm_up_torch(threads);
  Budget budget(options.resources, 0, heap_slack(threads));
  const FramesView frames(options.data);
  const auto source = open_windows(frames, {recipe.data.features, recipe.data.window, recipe.data.stride});
  const TrainingSplit split = split_training(source->tables(), recipe.split.validation, recipe.split.embargo);
  const RunFolder folder{options.run};
  NewRun run(folder, options.force);
  make_folders(folder.stage(recipe, "gat"));
  write_text(folder.recipe(), recipe_yaml(recipe));

  GatStageResult result;
  {
    Progress progress("train gat", "windows");
    result = train_gat({.source = source.get(),
                        .recipe = &recipe,
                        .split = &split,
                        .benign_ids = training_ids(frames, true),
                        .folder = folder.stage(recipe, "gat"),
                        .threads = threads,
                        .progress = [&](int64_t done, int64_t total, const std::string& note) {
                          progress.update(done, total, note);
                        }});
  }
  write_text(folder.manifest(), run_manifest(frames, recipe, options, budget, result).dump(1) + "\n");
  run.commit();

  double training_seconds = 0;
  for (const EpochMetrics& epoch : result.epochs) training_seconds += epoch.seconds;
  const double rate = static_cast<double>(split.training.size() + split.validation.size()) *
                      static_cast<double>(result.epochs.size()) / training_seconds;
  const EpochMetrics& best = result.epochs[static_cast<size_t>(result.best_epoch) - 1];
  const std::string model = folder.model(recipe).string();
  if (options.json) {
    const Json summary = {{"run", options.run.string()},
                          {"model", model},
                          {"weights", result.weights_hash},
                          {"parameters", result.detector.model->parameters().count()},
                          {"epochs", result.epochs.size()},
                          {"best_epoch", result.best_epoch},
                          {"training_loss", best.training_loss},
                          {"validation_loss", best.validation_loss},
                          {"seconds", watch.seconds()},
                          {"graphs_per_s", rate},
                          {"blocks_in_flight", result.blocks_in_flight},
                          {"reruns", result.reruns},
                          {"memory", budget.report_json()}};
    fmt::print("{}\n", summary.dump());
    return;
  }
  fmt::print(
      "trained on {} windows ({} with attacks) of {} recordings, validated on {}; {} copies left out\n",
      format_count(static_cast<int64_t>(split.training.size())), format_count(result.training_attacks),
      split.used.size(), format_count(static_cast<int64_t>(split.validation.size())), split.copies.size());
  fmt::print("GAT with {} parameters: best of {} epochs is {}, loss {:.5f}, validation {:.5f}\n",
             format_count(result.detector.model->parameters().count()), result.epochs.size(),
             result.best_epoch, best.training_loss, best.validation_loss);
  fmt::print("{} ({} windows/s in epochs), {} of {} blocks in flight at once\n{}\n",
             format_seconds(watch.seconds()), format_count(static_cast<int64_t>(rate)),
             result.blocks_in_flight, threads, budget.report());
  if (result.reruns > 0)
    fmt::print("{} blocks ran again alone to stay within the budget\n", format_count(result.reruns));
  fmt::print("weights {}\n{}\n", result.weights_hash, model);
}

}  // namespace plimsoll
