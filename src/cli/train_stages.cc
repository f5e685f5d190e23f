#include "cli/train_stages.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "io/file_system.h"
#include "memory/ledger.h"
#include "train/detection_labels.h"
#include "train/gnn_stage.h"

namespace plimsoll {
namespace {

int64_t graphs_of(const TrainingSplit& split) {
  return static_cast<int64_t>(split.training.size() + split.validation.size());
}

std::string windows_in_words(const TrainingSplit& split, std::span<const GraphShape> shapes) {
  return fmt::format("{} windows ({} with attacks) of {} recordings, validated on {}; {} copies left out",
                     format_count(static_cast<int64_t>(split.training.size())),
                     format_count(count_attacks(split.training, shapes)), split.used.size(),
                     format_count(static_cast<int64_t>(split.validation.size())), split.copies.size());
}

// What goes into the file of every detector.
DetectorFacts facts_of(const TrainingData& data, const Recipe& recipe, const TrainingSplit& split) {
  const Json windows = {{"features", recipe.data.features},
                        {"window", recipe.data.window.text()},
                        {"stride", recipe.data.stride.text()}};
  return {.vocabulary = data.source().tables().vocabulary,
          .benign_ids = training_ids(*data.frames(), true, {.leave_out = recipe.split.leave_out}),
          .trained_on = split.contents,
          .without = recipe.data.without,
          .data = windows.dump(),
          .benign = data.benign(split)};
}

RunOptions run_of(const StageRuns& runs, int64_t seed, const std::string& stage, const std::string& title) {
  RunOptions run = runs.run;
  run.folder = runs.folder->seed(seed) / stage;
  run.identity = fmt::format("{} seed {} {}", runs.identity, seed, stage);
  run.progress = runs.progress_of(title);
  make_folders(run.folder);
  return run;
}

template <typename Result>
StageReport report_of(const char* stage, const Result& result, int64_t parameters, const TrainingSplit& split,
                      int64_t outside_ledger) {
  return {.stage = stage,
          .weights = result.weights_hash,
          .parameters = parameters,
          .graphs = graphs_of(split),
          .fit = result.fit,
          .measured_peak = outside_ledger + Ledger::process().peak()};
}

Trained train_detector(const TrainingData& data, const Recipe& recipe, const StageRuns& runs) {
  const auto shapes = read_shapes(data.source(), runs.run.threads);
  const TrainingSplit split = detection_split(recipe, data);
  const StageResult result = train_gat({.source = &data.source(),
                                        .shapes = shapes,
                                        .recipe = &recipe,
                                        .split = &split,
                                        .facts = facts_of(data, recipe, split),
                                        .run = run_of(runs, recipe.seed, "gat", "train gat")});
  const int64_t parameters = result.detector.parameters().count();
  return {{{recipe.seed, report_of("gat", result, parameters, split, runs.run.outside_ledger)}},
          "GAT",
          windows_in_words(split, shapes)};
}

Trained train_one_gnn(const TrainingData& data, const Recipe& recipe, const StageRuns& runs) {
  const auto shapes = read_shapes(data.source(), runs.run.threads);
  const TrainingSplit split = split_for(recipe, data, shapes);
  const Recipe of_blocks = block_recipe(recipe, data);
  const GnnStageResult result = train_gnn({.source = &data.source(),
                                           .shapes = shapes,
                                           .recipe = &of_blocks,
                                           .split = &split,
                                           .data = data.identity_hash(),
                                           .run = run_of(runs, recipe.seed, "gnn", "train gnn")});
  const int64_t parameters = result.trained.model->parameters().count();
  StageReport report = report_of("gnn", result, parameters, split, runs.run.outside_ledger);
  if (data.neighbours() != nullptr) {
    const std::vector<SeedList>& lists = data.neighbours()->blocks().lists();
    report.graphs = lists[0].size() + lists[1].size();
    report.unit = recipe.task == "link_prediction" ? "edges" : "seeds";
    std::string on = fmt::format(
        "{} {} an epoch, in {} blocks, validated on {}", format_count(lists[0].size()), report.unit,
        format_count(static_cast<int64_t>(split.training.size())), format_count(lists[1].size()));
    return {{{recipe.seed, std::move(report)}}, recipe.gnn.conv, std::move(on)};
  }
  return {{{recipe.seed, std::move(report)}},
          recipe.gnn.conv,
          fmt::format("{} graphs, validated on {}, {} left for a test",
                      format_count(static_cast<int64_t>(split.training.size())),
                      format_count(static_cast<int64_t>(split.validation.size())),
                      format_count(static_cast<int64_t>(split.test.size())))};
}

Trained train_distillation(const TrainingData& data, const Recipe& recipe, const StageRuns& runs) {
  const auto shapes = read_shapes(data.source(), runs.run.threads);
  const TrainingSplit split = detection_split(recipe, data);  // the same for all seeds
  const DetectorFacts facts = facts_of(data, recipe, split);
  Trained trained{{}, "distillation", windows_in_words(split, shapes)};
  for (const int64_t seed : runs.seeds) {
    Recipe seeded = recipe;
    seeded.seed = seed;
    const auto run_of_stage = [&](const std::string& stage) {
      return run_of(runs, seed, stage, fmt::format("seed {} {}", seed, stage));
    };
    make_folders(runs.folder->seed(seed) / "columns");
    distill({.source = &data.source(),
             .shapes = shapes,
             .recipe = &seeded,
             .split = &split,
             .facts = facts,
             .data = data.identity_hash(),
             .folder = runs.folder->seed(seed),
             .run_of = run_of_stage},
            [&](const StageReport& report) {
              trained.stages.push_back({seed, report});
              runs.done(trained.stages.back());
            });
  }
  return trained;
}

}  // namespace

Trained train_stages(const TrainingData& data, const Recipe& recipe, const StageRuns& runs) {
  if (recipe.task == "detection") return train_detector(data, recipe, runs);
  if (recipe.task == "distillation") return train_distillation(data, recipe, runs);
  return train_one_gnn(data, recipe, runs);
}

const MemoryPlan& decisive(const StagePlans& plans) {
  return std::ranges::max_element(plans, {}, [](const auto& plan) { return plan.second.min_budget; })->second;
}

StagePlans plan_stages(const TrainingData& data, const Recipe& recipe, const RunOptions& run) {
  const auto shapes = read_shapes(data.source(), run.threads);
  if (!is_about_attacks(recipe)) {
    const TrainingSplit split = split_for(recipe, data, shapes);
    const Recipe of_blocks = block_recipe(recipe, data);
    return {{"gnn", plan_gnn({.source = &data.source(),
                              .shapes = shapes,
                              .recipe = &of_blocks,
                              .split = &split,
                              .data = data.identity_hash(),
                              .run = run})}};
  }
  const TrainingSplit split = detection_split(recipe, data);
  const DetectorFacts facts = facts_of(data, recipe, split);
  if (recipe.task == "detection")
    return {{"gat", plan_gat({.source = &data.source(),
                              .shapes = shapes,
                              .recipe = &recipe,
                              .split = &split,
                              .facts = facts,
                              .run = run})}};
  return plan_distill({.source = &data.source(),
                       .shapes = shapes,
                       .recipe = &recipe,
                       .split = &split,
                       .facts = facts,
                       .data = data.identity_hash(),
                       .folder = {},
                       .run_of = [&](const std::string&) { return run; }});
}

}  // namespace plimsoll
