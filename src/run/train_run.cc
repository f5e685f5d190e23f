#include "run/train_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "base/seconds.h"
#include "base/version.h"
#include "base/word_text.h"
#include "config/earlier_runs.h"
#include "engine/fit/rounding.h"
#include "engine/plan/planner.h"
#include "io/file.h"
#include "io/replaceable.h"
#include "job/stage.h"
#include "memory/c_heap.h"
#include "memory/pressure.h"
#include "run/agreement.h"
#include "run/data_check.h"
#include "run/plan_run.h"
#include "run/run_folder.h"
#include "run/run_identity.h"
#include "run/run_lock.h"
#include "run/run_manifest.h"
#include "run/task.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

// A request for single stages continues the existing run, unless `force` is set.
bool continues_run(const RunRequest& request) {
  const bool asked = request.resume || (!request.stages.empty() && !request.force);
  return asked && holds_a_run({request.folder});
}

// Returns the recipe; if it continues a run that was made under the rules of an earlier version, under those
// rules.
Recipe under_its_rules(const RunRequest& request) {
  const Recipe& recipe = request.recipe;
  const RunFolder folder{request.folder};
  if (!continues_run(request) || recipe.split.rule == 1) return recipe;
  try {
    if (load_run_recipe(folder.recipe()).split.rule != 1) return recipe;
  } catch (const Error&) {
    return recipe;  // The identity check decides whether the recipe is that of the run.
  }
  if (request.writes())
    fmt::print(stderr,
               "plimsoll: {} was made by an earlier version and continues under its rules: split.rule 1, "
               "sampling.exclude_targets false, init_target_scale model\n",
               request.folder.string());
  return with_earlier_rules(recipe);
}

// Returns the folder of the run or, if it does not exist, the nearest existing parent folder.
fs::path nearest_folder(const fs::path& run) {
  fs::path folder = fs::absolute(run);
  while (!FileSystem::disk().exists(folder) && folder.has_relative_path()) folder = folder.parent_path();
  return folder;
}

// Returns the request with the nearest copy of the data, the rules of an earlier run, and the process for
// trackers.
RunRequest completed(RunRequest request) {
  request.recipe = under_its_rules(request);
  request.data = nearest_copy(request.data);
  if (const auto& trackers = request.recipe.run.trackers;
      !trackers.empty() && !request.trackers && request.writes())
    request.trackers = std::make_shared<const TrackerProcess>(request.folder, trackers);
  return request;
}

// Returns the requested stages of each seed.
std::vector<SeededStage> stages_of(const RunRequest& request, const Training& training,
                                   const RunFolder& folder) {
  std::vector<SeededStage> stages;
  std::vector<std::string> known;
  const auto is_asked = [&](const std::string& name) {
    return std::ranges::find(request.stages, name) != request.stages.end();
  };
  // A stage can also be requested by its folder, for example a stage that computes a column.
  for (const int64_t seed : seeds_of(request))
    for (Stage& stage : training.stages(seed, folder.seed(seed))) {
      for (const std::string& name : {stage.name, stage.folder})
        if (std::ranges::find(known, name) == known.end()) known.push_back(name);
      if (request.stages.empty() || is_asked(stage.name) || is_asked(stage.folder))
        stages.push_back({seed, std::move(stage)});
    }
  for (const std::string& name : request.stages)
    if (std::ranges::find(known, name) == known.end())
      throw UsageError(fmt::format("task '{}' has no stage '{}'; it has {}", request.recipe.task, name,
                                   fmt::join(known, ", ")));
  return stages;
}

// Checks whether every stage fits before the first one trains. Plans without data are made first, because
// they leave no memory in the process that a stage at its smallest budget would lack; but they overestimate
// the BLAS buffers. If they do not fit, plans with data are made, as by `plimsoll plan`. If these exceed the
// budget by no more than kFloorSpread, each stage decides when it starts.
void refuse_at_once(std::span<const SeededStage> stages, RunOptions run) {
  if (stages.size() < 2 || run.memory.budget == 0) return;
  const auto of_other_seed = std::ranges::find_if(
      stages, [&](const SeededStage& stage) { return stage.seed != stages.front().seed; });
  for (const bool without_data : {true, false}) {
    run.without_data = without_data;
    MemoryPlan plan = largest_budget(plan_stages({stages.begin(), of_other_seed}, run));
    give_back_freed_memory();
    if (plan.min_budget - kFloorSpread <= run.memory.budget) return;
    plan.feasible = false;
    if (!without_data) require_feasible(plan);
  }
}

// The facts that must be the same on every rank of the run.
Facts facts_of(const RunRequest& request, const TrainingData& data, const std::string& identity) {
  const auto text = [](const auto& value) { return Json(value).dump(); };
  Facts facts = {{"recipe", recipe_yaml(request.recipe)},
                 {"data set", data.identity().dump(1)},
                 {"identity of recipe, data and teacher", identity},
                 {"version", kVersion},
                 {"number of --seeds", text(request.seeds)},
                 {"list of --stage", text(request.stages)},
                 {"--resume", text(request.resume)}};
  if (request.facts.contains("build")) facts.emplace_back("build", request.facts.at("build"));
  add_rounding(facts);
  return facts;
}

// One process of a run, from the data to the manifest.
class TrainRun final : private FitObserver {
 public:
  /// `reads` are input files. None of them may be in a run that is replaced.
  TrainRun(const RunRequest& request, const std::vector<fs::path>& reads)
      : request_(request), reads_(reads), folder_{request.folder} {}

  TrainedRun run() {
    open();
    admit();
    claim();
    train();
    finish();
    return std::move(done_);
  }

  /// Whether a stage has been planned and started, so that a refusal leaves a run to resume.
  bool has_started() const { return started_; }

 private:
  // Opens the data, within the budget.
  void open() {
    facts_.enforced = request_.observer->enforce();
    facts_.read =
        check_data(request_.data, folder_,
                   {.full = request_.verify_all, .resume = request_.resume, .interrupt = request_.interrupt});
    RunRequest opened = request_;
    opened.scratch.folder = nearest_folder(request_.folder);
    training_ = find_task(request_.recipe.task).open(std::move(opened));
    facts_.data = training_->data().identity();
    facts_.identity = identity_of(request_, training_->data());
    done_.model = training_->model();
    done_.trained_on = training_->trained_on();
  }

  // Runs the checks that need no folder: whether the ranks agree, whether the stages exist, and the budget.
  void admit() {
    require_agreement(request_.exchange, facts_of(request_, training_->data(), facts_.identity));
    stages_ = stages_of(request_, *training_, folder_);
    refuse_at_once(stages_, request_.stage_options());
  }

  // Creates the folder, or uses that of an earlier run, and writes the first files. The manifest is written
  // first, because it marks the folder as a run.
  void claim() {
    facts_.roundings = Json::array({rounding_here()});
    if (request_.writes()) take_folder();  // Rank 0 makes the folder.
    manifest_.emplace(request_, facts_);
    if (request_.writes()) {
      manifest_->write();
      write_text(folder_.recipe(), recipe_yaml(request_.recipe));
      if (request_.trackers) request_.trackers->follow();
    }
    barrier(request_.exchange);
  }

  void take_folder() {
    if (continues_run(request_)) {
      lock_.emplace(folder_.root);
      facts_.earlier = read_earlier_run(folder_, facts_.identity);
      facts_.roundings = roundings_with_this(folder_, facts_.earlier, request_.allow_other_rounding);
    } else {
      if (holds_a_run(folder_)) require_outside(folder_.root, reads_);
      fresh_.emplace(folder_, request_.force);
    }
  }

  // Runs the stages, and lets the task finish if one of them trained a model.
  void train() {
    try {
      train_stages();
    } catch (...) {
      leave_for_resume();
      throw;
    }
  }

  void train_stages() {
    RunOptions run = request_.stage_options();
    run.folder = folder_.root;
    run.identity = facts_.identity;
    run.roundings = facts_.roundings.dump();
    run.resume = request_.resume;
    run.pressure = &pressure_;
    run.observer = this;
    if (request_.writes())
      for (const SeededStage& stage : stages_) make_folders(folder_.seed(stage.seed) / "columns");
    done_.stages = run_stages(stages_, run, *request_.observer, training_->data().unit());
    std::vector<TrainedStage> models;
    std::ranges::copy_if(done_.stages, std::back_inserter(models),
                         [](const TrainedStage& stage) { return !stage.report.weights.empty(); });
    if (models.empty() || !request_.writes()) return;
    if (const TrainedStage* const main = training_->finish(models, folder_, run)) done_.main = *main;
  }

  // Keeps a run that ended early, so that it can be resumed. A new run without a checkpoint is removed.
  void leave_for_resume() {
    if (fresh_ && checkpoints_of(folder_).empty()) return;
    if (request_.writes()) manifest_->end_early();
    if (fresh_) fresh_->commit();
  }

  void finish() {
    if (!request_.writes()) return;
    const TrainedStage* const main = done_.main ? &*done_.main : nullptr;
    if (main != nullptr) done_.file = folder_.seed(main->seed) / main->report.stage / "model.safetensors";
    done_.unsaved.attempt([&] { manifest_->finish(done_.stages, main); });
    if (fresh_) fresh_->commit();
    const std::filesystem::path copy = training_->copy_of_result(folder_);
    if (main != nullptr && done_.stages.size() > 1 && !copy.empty() && FileSystem::disk().exists(copy))
      done_.file = copy;
    done_.seconds = seconds_since(start_);
  }

  void on_started() override {
    started_ = true;
    request_.observer->on_started();
  }
  void on_progress(int64_t done, int64_t total, const std::string& note) override {
    request_.observer->on_progress(done, total, note);
  }

  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  PressureWatch pressure_;
  const RunRequest& request_;
  const std::vector<fs::path>& reads_;
  const RunFolder folder_;
  std::unique_ptr<Training> training_;
  std::vector<SeededStage> stages_;
  RunFacts facts_;
  std::optional<NewRun> fresh_;  // The folder of a new run; only on rank 0.
  std::optional<RunLock> lock_;  // The lock of an earlier run that continues; only on rank 0.
  std::optional<RunManifest> manifest_;
  bool started_ = false;
  TrainedRun done_;
};

}  // namespace

void require_taken(const Recipe& recipe, int64_t seeds, const fs::path& teacher) {
  const Task& task = find_task(recipe.task);
  if (seeds > 1 && !task.takes_seeds())
    throw UsageError(
        fmt::format("task '{}' does not accept --seeds; start one run per seed (tasks that accept it: {})",
                    recipe.task, tasks_that(&Task::takes_seeds)));
  if (!teacher.empty() && !task.takes_teacher())
    throw UsageError(fmt::format(
        "task '{}' does not accept --teacher; leave it out, or set another task (tasks that accept it: {})",
        recipe.task, tasks_that(&Task::takes_teacher)));
}

TrainedRun train_run(const RunRequest& asked) {
  require_taken(asked.recipe, asked.seeds, asked.teacher);
  const RunRequest request = completed(asked);
  std::vector<fs::path> reads = {asked.data, request.data};
  if (!asked.recipe.init_from.empty()) reads.emplace_back(asked.recipe.init_from);
  const bool explains = request.explains_refusals && request.memory.budget > 0;
  const auto refuse = [&](const BudgetExceeded* refusal) {
    require_feasible(largest_budget(plan_beyond_budget(request, refusal)));
  };
  if (explains && request.memory.is_below_floor()) refuse(nullptr);
  std::optional<TrainRun> run;
  try {
    // Checks whether the budget suffices before any file is written.
    if (request.recipe.memory.estimation == Estimation::from_shapes)
      require_feasible(largest_budget(plan_without_data(request)));
    return run.emplace(request, reads).run();
  } catch (const BudgetExceeded& refusal) {
    if ((run && run->has_started()) || !explains) throw;
    run.reset();  // Frees its data, which would otherwise count in the plan.
    request.observer->release();
    refuse(&refusal);
    throw;
  }
}

}  // namespace plimsoll
