#include "run/train_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "base/json_text.h"
#include "base/seconds.h"
#include "base/version.h"
#include "config/earlier_runs.h"
#include "engine/fit/rounding.h"
#include "engine/plan/memory_by_module.h"
#include "engine/plan/planner.h"
#include "io/file.h"
#include "io/replaceable.h"
#include "job/stage.h"
#include "job/usage.h"
#include "memory/c_heap.h"
#include "memory/pressure.h"
#include "run/agreement.h"
#include "run/data_check.h"
#include "run/run_folder.h"
#include "run/run_identity.h"
#include "run/run_lock.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

std::vector<int64_t> seeds_of(const TrainRequest& request) {
  std::vector<int64_t> seeds;
  for (int64_t i = 0; i < request.seeds; ++i) seeds.push_back(request.input.recipe.seed + i);
  return seeds;
}

// A stage alone continues the existing run, unless that is to be replaced.
bool goes_on(const TrainRequest& request) {
  const bool asked = request.resume || (!request.stages.empty() && !request.force);
  return asked && holds_a_run({request.folder});
}

// A run that was made under earlier rules continues under them.
Recipe under_its_rules(const TrainRequest& request) {
  const Recipe& recipe = request.input.recipe;
  const RunFolder folder{request.folder};
  if (!goes_on(request) || recipe.split.rule == 1) return recipe;
  try {
    if (load_run_recipe(folder.recipe()).split.rule != 1) return recipe;
  } catch (const Error&) {
    return recipe;  // The identity check decides whether the recipe is that of the run.
  }
  if (request.run.writes())
    fmt::print(stderr,
               "plimsoll: {} was made by an earlier version and goes on under its rules: split.rule 1, "
               "sampling.exclude_targets false, init_target_scale model\n",
               request.folder.string());
  return with_earlier_rules(recipe);
}

// The requested stages of each seed.
std::vector<SeededStage> stages_of(const TrainRequest& request, const Training& training,
                                   const RunFolder& folder) {
  std::vector<SeededStage> stages;
  std::vector<std::string> known;
  for (const int64_t seed : seeds_of(request))
    for (Stage& stage : training.stages(seed, folder.seed(seed))) {
      known.push_back(stage.name);
      const bool asked =
          request.stages.empty() || std::ranges::find(request.stages, stage.name) != request.stages.end();
      if (asked) stages.push_back({seed, std::move(stage)});
    }
  for (const std::string& name : request.stages)
    if (std::ranges::find(known, name) == known.end())
      throw UsageError(fmt::format("task '{}' has no stage '{}'; it has {}", request.input.recipe.task, name,
                                   fmt::join(known, ", ")));
  return stages;
}

// Checks whether every stage fits before the first one trains. Plans without data leave nothing in the
// process, memory that stages at their smallest budget would lack, but overestimate the BLAS buffers. If they
// do not fit, plans like those of `plimsoll plan` decide. If these exceed the budget by less than the floors
// of processes differ, each stage decides when it starts.
void refuse_at_once(std::span<const SeededStage> stages, RunOptions run, int64_t budget) {
  if (stages.size() < 2 || budget == 0) return;
  const auto of_other_seed = std::ranges::find_if(
      stages, [&](const SeededStage& stage) { return stage.seed != stages.front().seed; });
  for (const bool without_data : {true, false}) {
    run.without_data = without_data;
    MemoryPlan plan = largest_budget(plan_stages({stages.begin(), of_other_seed}, run));
    give_back_freed_memory();
    if (plan.min_budget - kFloorSpread <= budget) return;
    plan.feasible = false;
    if (!without_data) require_feasible(plan);
  }
}

// The facts that must be the same on every rank of the run.
Facts facts_of(const TrainRequest& request, const Training& training) {
  const auto text = [](const auto& value) { return Json(value).dump(); };
  Facts facts = {{"recipe", recipe_yaml(request.input.recipe)},
                 {"data set", training.data().identity().dump(1)},
                 {"identity of recipe, data and teacher", identity_of(request.input, training.data())},
                 {"version", kVersion},
                 {"number of --seeds", text(request.seeds)},
                 {"list of --stage", text(request.stages)},
                 {"--resume", text(request.resume)}};
  if (request.facts.contains("build")) facts.emplace_back("build", request.facts.at("build"));
  add_rounding(facts);
  return facts;
}

Json manifest_of(const TrainRequest& request, const TrainingData& data, Json read,
                 const std::string& identity, Json roundings) {
  Json manifest = {{"kind", "run"},
                   {"tool", std::string("plimsoll ") + kVersion},
                   {"data", data.identity()},
                   {"read", std::move(read)},
                   {"identity", identity},
                   {"roundings", std::move(roundings)},
                   {"seed", request.input.recipe.seed},
                   {"seeds", seeds_of(request)},
                   {"threads", request.run.threads},
                   {"budget_bytes", request.budget}};
  manifest.update(request.facts);
  return manifest;
}

// Adds the manifest's entries of an earlier run of some stages, except for the stages that ran again.
Json with_earlier(const Json& before, const std::vector<TrainedStage>& stages) {
  Json all = Json::array();
  const Json now = stages_json(stages);
  if (before.is_array())
    for (const Json& entry : before) {
      const auto same = [&](const Json& other) {
        return entry.is_object() && entry.value("seed", Json()) == other["seed"] &&
               entry.value("stage", Json()) == other["stage"];
      };
      if (std::ranges::none_of(now, same)) all.push_back(entry);
    }
  for (const Json& entry : now) all.push_back(entry);
  return all;
}

// The entry "starts" of the manifest: each process that trained in the folder and could still record its end.
class StartRecords {
 public:
  StartRecords(const TrainRequest& request, const Json& before)
      : request_(request), all_(before.is_array() ? before : Json::array()) {}

  const Json& before() const { return all_; }
  Json with_this(const char* ended) const {
    Json all = all_;
    all.push_back({{"ended", ended},
                   {"seconds", seconds_since(begin_)},
                   {"threads", request_.run.threads},
                   {"budget_bytes", request_.budget},
                   {"usage", usage_json()},
                   {"memory", request_.memory()}});
    return all;
  }

 private:
  const TrainRequest& request_;
  Json all_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// Records an early exit. Write errors are ignored so that the original error is reported.
void note_early_end(const RunFolder& folder, Json manifest, const StartRecords& starts,
                    const RunOptions& run) {
  const bool interrupted = run.interrupt != nullptr && *run.interrupt;
  try {
    manifest["starts"] = starts.with_this(interrupted ? "interrupted" : "error");
    write_text(folder.manifest(), json_text(manifest, 1) + "\n");
  } catch (const Error&) {
  }
}

// The folder of the run or, if it does not exist, the nearest existing parent folder.
fs::path nearest_folder(const fs::path& run) {
  fs::path folder = fs::absolute(run);
  while (!FileSystem::disk().exists(folder) && folder.has_relative_path()) folder = folder.parent_path();
  return folder;
}

const MemoryPlan& largest_plan(const std::vector<TrainedStage>& stages) {
  const auto largest = std::ranges::max_element(
      stages, {}, [](const TrainedStage& stage) { return stage.report.fit.plan.peak; });
  return largest->report.fit.plan;
}

// The folder of a run, which this process may write to if it is rank 0, and the records of earlier processes.
struct OpenedRun {
  OpenedRun(const TrainRequest& request, const RunFolder& folder, const std::string& identity) {
    if (!request.run.writes()) return;  // Rank 0 makes the folder.
    if (goes_on(request)) {
      lock.emplace(folder.root);
      earlier = read_earlier_run(folder, identity);
      roundings = roundings_with_this(folder, earlier, request.allow_other_rounding);
    } else {
      if (holds_a_run(folder)) require_outside(folder.root, request.reads);
      fresh.emplace(folder, request.force);
    }
  }

  std::optional<NewRun> fresh;
  std::optional<RunLock> lock;
  EarlierRun earlier;
  Json roundings = Json::array({rounding_here()});
};

// Writes the first files of a run. The manifest comes first, because it marks the folder as a run.
void write_first_files(const TrainRequest& request, const RunFolder& folder, const Json& manifest) {
  write_text(folder.manifest(), json_text(manifest, 1) + "\n");
  write_text(folder.recipe(), recipe_yaml(request.input.recipe));
  if (request.trackers) request.trackers->follow();
}

// Runs the stages, and finishes the run if one of them trained a model.
void train_stages(const TrainRequest& request, const std::vector<SeededStage>& stages, const StageRuns& runs,
                  Training& training, TrainedRun& done) {
  const bool writes = request.run.writes();
  if (writes)
    for (const SeededStage& stage : stages) make_folders(runs.folder->seed(stage.seed) / "columns");
  done.stages = run_stages(stages, runs);
  std::vector<TrainedStage> models;
  std::ranges::copy_if(done.stages, std::back_inserter(models),
                       [](const TrainedStage& stage) { return !stage.report.weights.empty(); });
  if (!models.empty() && writes)
    if (const TrainedStage* const main = training.finish(models, *runs.folder, runs.run)) done.main = *main;
}

// Adds the results of training to the manifest.
void add_results(Json& manifest, const TrainRequest& request, const Json& earlier_stages,
                 const TrainedRun& done) {
  if (done.main) {
    const StageReport& main = done.main->report;
    manifest["parameters"] = main.parameters;
    manifest["best_epoch"] = main.fit.best_epoch;
    manifest["weights"] = main.weights;
  }
  if (!done.stages.empty()) {
    const MemoryPlan& plan = largest_plan(done.stages);
    manifest["plan"] = plan_json(plan);
    manifest["memory_by_module"] = memory_by_module_json(memory_by_module(plan.worst));
  }
  manifest["stages"] = with_earlier(request.stages.empty() ? Json() : earlier_stages, done.stages);
  manifest["memory"] = request.memory();
}

TrainedRun train_in_folder(const TrainRequest& request) {
  const auto start = std::chrono::steady_clock::now();
  PressureWatch pressure;
  const RunFolder folder{request.folder};
  const Json enforced = request.enforce();
  const bool writes = request.run.writes();
  Json read =
      check_data(request.input.data, folder,
                 {.full = request.verify_all, .resume = request.resume, .interrupt = request.run.interrupt});
  TrainingInput input = request.input;
  input.scratch.folder = nearest_folder(request.folder);
  input.on_device = request.run.device != nullptr;
  const std::unique_ptr<Training> training = find_task(input.recipe.task).open(input);

  const std::string identity = identity_of(request.input, training->data());
  require_agreement(request.run.exchange, facts_of(request, *training));
  const std::vector<SeededStage> stages = stages_of(request, *training, folder);
  refuse_at_once(stages, request.run, request.budget);
  OpenedRun opened(request, folder, identity);
  const Json& earlier_stages = opened.earlier.stages;
  Json manifest = manifest_of(request, training->data(), std::move(read), identity, opened.roundings);
  if (!enforced.is_null()) manifest["enforced"] = enforced;
  const StartRecords starts(request, opened.earlier.starts);
  manifest["starts"] = starts.before();
  if (!request.stages.empty() && earlier_stages.is_array()) manifest["stages"] = earlier_stages;
  if (request.run.ranks > 1) manifest["ranks"] = request.run.ranks;
  if (writes) write_first_files(request, folder, manifest);
  barrier(request.run.exchange);
  RunOptions run = request.run;
  run.resume = request.resume;
  run.roundings = opened.roundings.dump();
  run.pressure = &pressure;
  TrainedRun done;
  done.model = training->model();
  done.trained_on = training->trained_on();
  const auto progress_of = [&](const std::string& title) {
    return request.progress_of(title, training->data().unit());
  };
  try {
    train_stages(request, stages,
                 {.folder = &folder, .run = run, .identity = identity, .progress_of = progress_of}, *training,
                 done);
  } catch (...) {
    const bool stays = !opened.fresh || !checkpoints_of(folder).empty();
    if (stays && writes) note_early_end(folder, manifest, starts, run);
    if (opened.fresh && stays) opened.fresh->commit();  // The run can be resumed.
    throw;
  }
  if (!writes) return done;
  if (done.main) done.file = folder.seed(done.main->seed) / done.main->report.stage / "model.safetensors";
  add_results(manifest, request, earlier_stages, done);
  manifest["starts"] = starts.with_this("done");
  done.unsaved.attempt([&] { write_text(folder.manifest(), json_text(manifest, 1) + "\n"); });
  if (opened.fresh) opened.fresh->commit();
  if (done.main && done.stages.size() > 1 && FileSystem::disk().exists(folder.detector()))
    done.file = folder.detector();
  done.seconds = seconds_since(start);
  return done;
}

}  // namespace

void require_taken(const Recipe& recipe, int64_t seeds, const fs::path& teacher) {
  const Task& task = find_task(recipe.task);
  if (seeds > 1 && !task.takes_seeds())
    throw UsageError("--seeds is for tasks distillation and tree_classification; give each run of '" +
                     recipe.task + "' its own seed");
  if (!teacher.empty() && !task.takes_teacher())
    throw UsageError("--teacher is for task distillation, and the recipe's task is '" + recipe.task +
                     "'; set task: distillation, or leave it out");
}

TrainedRun train_run(const TrainRequest& request) {
  require_taken(request.input.recipe, request.seeds, request.input.teacher);
  TrainRequest asked = request;
  asked.input.recipe = under_its_rules(request);
  asked.input.data = nearest_copy(request.input.data);
  asked.reads = {request.input.data, asked.input.data};
  if (!request.input.recipe.init_from.empty()) asked.reads.emplace_back(request.input.recipe.init_from);
  if (const auto& trackers = request.input.recipe.run.trackers;
      !trackers.empty() && !asked.trackers && request.run.writes())
    asked.trackers = std::make_shared<const TrackerProcess>(request.folder, trackers);
  bool started = false;
  asked.run.on_started = [&] {
    started = true;
    request.run.on_started();
  };
  const auto refuse = [&](const BudgetExceeded* refusal) {
    require_feasible(largest_budget(plan_beyond_budget(asked.input, request.run, request.budget, refusal)));
  };
  if (request.explains_refusals && request.budget > 0 && request.budget <= request.run.outside_ledger)
    refuse(nullptr);
  try {
    // Checks whether the budget suffices before anything is made.
    if (request.input.recipe.memory.estimation == "static")
      require_feasible(largest_budget(plan_without_data(asked.input, request.run)));
    return train_in_folder(asked);
  } catch (const BudgetExceeded& refusal) {
    if (started || request.budget == 0 || !request.explains_refusals) throw;
    request.release();
    refuse(&refusal);
    throw;
  }
}

double graphs_per_second(const StageReport& report) {
  double seconds = 0;
  for (const EpochMetrics& epoch : report.fit.epochs) seconds += epoch.seconds;
  if (seconds == 0) return 0;
  return static_cast<double>(report.graphs) * static_cast<double>(report.fit.epochs.size()) / seconds;
}

Json stages_json(const std::vector<TrainedStage>& trained) {
  Json stages = Json::array();
  for (const auto& [seed, stage] : trained) {
    const FitResult& fit = stage.fit;
    Json json = {{"seed", seed},
                 {"stage", stage.stage},
                 {"graphs", stage.graphs},
                 {"seconds", stage.seconds},
                 {"planned_peak_bytes", fit.plan.peak},
                 {"min_budget_bytes", fit.plan.min_budget},
                 {"measured_peak_bytes", stage.measured_peak}};
    if (fit.device) json["device"] = device_json(*fit.device);
    if (!fit.epochs.empty())
      json.update({{"weights", stage.weights},
                   {"parameters", stage.parameters},
                   {"epochs", fit.epochs.size()},
                   {"best_epoch", fit.best_epoch},
                   {"validation_loss", fit.best_loss},
                   {"graphs_per_s", graphs_per_second(stage)}});
    Json breakdown = Json::object();
    for (const auto& [name, bytes] : fit.plan.parts) breakdown[name] = bytes;
    json["breakdown"] = std::move(breakdown);
    stages.push_back(std::move(json));
  }
  return stages;
}

}  // namespace plimsoll
