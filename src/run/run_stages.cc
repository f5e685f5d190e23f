#include "run/run_stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "engine/plan/stage_memory.h"
#include "io/file_system.h"
#include "memory/ledger.h"

namespace plimsoll {
namespace {

using Clock = std::chrono::steady_clock;

// Reduces the memory share of a stage by the bytes that earlier stages left in the process.
RunOptions after_earlier_stages(const StageMemory& memory, RunOptions run) {
  run.memory = memory.share();
  run.memory.outside_varies = StageMemory::kLeftVaries;
  return run;
}

// Returns the options of a stage, derived from those of the run.
RunOptions options_of(const SeededStage& seeded, RunOptions run) {
  run.folder = RunFolder{run.folder}.seed(seeded.seed) / seeded.stage.folder;
  run.identity += fmt::format(" seed {} {}", seeded.seed, seeded.stage.folder);
  // A device that rounds differently gives other weights, so its model is part of the identity.
  if (run.device != nullptr) run.identity += " on " + run.device->model();
  if (run.writes()) make_folders(run.folder);
  barrier(run.exchange);  // A stage that is refused removes the run's folder, so all ranks wait here.
  return run;
}

// Frees the places of tensors in all plans but the one with the largest peak, which the run's manifest
// describes by module. Otherwise each stage would leave less memory for the next one.
void free_places(std::vector<TrainedStage>& done) {
  const auto peak = [](const TrainedStage& stage) { return stage.report.fit.plan.peak; };
  const auto largest = std::ranges::max_element(done, {}, peak);
  for (auto stage = done.begin(); stage != done.end(); ++stage) {
    if (stage == largest) continue;
    MemoryPlan& plan = stage->report.fit.plan;
    plan.training.reset();
    plan.prediction.reset();
    plan.worst.plan.reset();
    ExecutionPlan& execution = plan.execution;
    for (auto* planner : {&execution.training, &execution.prediction, &execution.teaching,
                          &execution.device_training, &execution.device_prediction})
      planner->reset();
  }
}

}  // namespace

std::vector<TrainedStage> run_stages(std::span<const SeededStage> stages, const RunOptions& run_options,
                                     RunObserver& observer, const char* unit) {
  std::vector<TrainedStage> done;
  const bool alone = stages.size() == 1;
  for (const SeededStage& seeded : stages) {
    const auto start = Clock::now();
    observer.on_stage(
        alone ? "train " + seeded.stage.name : fmt::format("seed {} {}", seeded.seed, seeded.stage.name),
        unit);
    RunOptions run = options_of(seeded, run_options);
    std::optional<StageMemory> memory;
    if (!alone) run = after_earlier_stages(memory.emplace(run.memory), std::move(run));
    StageReport report = seeded.stage.run(run);
    barrier(run.exchange);  // The next stage reads what rank 0 has written.
    if (report.was_there) continue;
    // A plan adds a margin for the differences between processes; this process ran within its cap, so its cap
    // suffices.
    if (const int64_t cap = Ledger::process().cap(); cap < Ledger::kUnlimited)
      report.fit.plan.min_budget = std::min(report.fit.plan.min_budget, run.memory.outside_ledger + cap);
    report.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    report.measured_peak =
        memory ? memory->peak_anonymous() : run.memory.outside_ledger + Ledger::process().peak();
    done.push_back({seeded.seed, std::move(report)});
    free_places(done);
  }
  return done;
}

StagePlans plan_stages(std::span<const SeededStage> stages, const RunOptions& run) {
  StagePlans plans;
  for (const SeededStage& seeded : stages) {
    if (stages.size() == 1) {
      plans.emplace_back(seeded.stage.name, seeded.stage.plan(run));
      continue;
    }
    const StageMemory memory(run.memory);
    plans.emplace_back(seeded.stage.name, seeded.stage.plan(after_earlier_stages(memory, run)));
  }
  return plans;
}

const MemoryPlan& largest_budget(const StagePlans& plans) {
  return std::ranges::max_element(plans, {}, [](const auto& plan) { return plan.second.min_budget; })->second;
}

}  // namespace plimsoll
