#include <fmt/format.h>

#include "base/units.h"
#include "cli/run_folder.h"
#include "cli/train_verb.h"
#include "ingest/windows.h"
#include "io/file.h"
#include "store/split_name.h"
#include "train/evaluate.h"
#include "train/preflight.h"

namespace plimsoll {

namespace {

// How the data was split when the model was trained; nothing if this is other data.
std::optional<TrainingSplit> split_that_trained(const BlockSource& source, const Recipe& recipe,
                                                const DetectorModel& detector) {
  const auto& recordings = source.tables().recordings;
  const bool trains = std::any_of(recordings.begin(), recordings.end(),
                                  [](const GraphRange& r) { return is_training_split(r.split); });
  if (!trains) return std::nullopt;
  TrainingSplit split = split_training(source.tables(), recipe.split.validation, recipe.split.embargo);
  if (split.contents != detector.trained_on) return std::nullopt;
  return split;
}

}  // namespace

void run_evaluate(const EvaluateOptions& options) {
  const Stopwatch watch;
  const int threads = options.resources.thread_count();
  warm_up_torch(threads);
  Budget budget(options.resources, 0, heap_slack(threads));
  const RunFolder folder{options.run};
  const Recipe recipe = load_recipe(folder.recipe(), {});
  const DetectorModel detector = load_model(folder.model(recipe));
  const FramesView frames(options.data);
  const auto source = open_windows(frames, {recipe.data.features, recipe.data.window, recipe.data.stride},
                                   detector.vocabulary);
  const std::optional<TrainingSplit> split = split_that_trained(*source, recipe, detector);
  const std::vector<SplitVerdict> verdicts =
      evaluate(*source, detector, split, unknown_id_rule(*source, detector.benign_ids),
               {recipe.training.block.graphs, recipe.training.block.nodes, recipe.training.block.edges},
               threads, options.split);

  const std::string json = verdicts_json(verdicts, recipe.seed).dump(1) + "\n";
  if (options.split.empty()) write_text(folder.evaluation(), json);
  if (options.json) {
    fmt::print("{}", json);
    return;
  }
  fmt::print("{}\n", verdicts_table(verdicts));
  for (const SplitVerdict& verdict : verdicts)
    for (const std::string& name : verdict.left_out)
      fmt::print("{}: left out {}, a copy of a training recording\n", verdict.name, name);
  int64_t windows = 0;
  for (const SplitVerdict& verdict : verdicts) windows += verdict.graphs;
  fmt::print("{} windows in {}; {}\n", format_count(windows), format_seconds(watch.seconds()),
             budget.report());
  if (options.split.empty()) fmt::print("{}\n", folder.evaluation().string());
}

}  // namespace plimsoll
