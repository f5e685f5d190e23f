#include "cli/train_verb.h"

#include <fmt/format.h>

#include <cstdio>
#include <optional>

#include "base/error.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/enforced.h"
#include "cli/interrupt.h"
#include "cli/open_device.h"
#include "cli/train_report.h"
#include "engine/plan/warm_up.h"
#include "memory/limits.h"
#include "run/train_run.h"
#include "telemetry/progress.h"

namespace plimsoll {
namespace {

constexpr int64_t kProfiledSteps = 3;  // Number of steps that --profile traces.

// Bytes of the scratch file, if given.
std::optional<int64_t> scratch_of(const TrainOptions& options) {
  if (options.scratch.empty()) return std::nullopt;
  return options.scratch == "0" ? 0 : parse_size(options.scratch, 0);
}

}  // namespace

void require_started(int ranks, const Exchange* exchange) {
  if (ranks > 1 && ranks != ranks_of(exchange))
    throw UsageError(fmt::format("--ranks is {}, but {} ranks were started", ranks, ranks_of(exchange)));
}

void run_train(const TrainOptions& options, Exchange* exchange) {
  const bool is_rank_zero = rank_of(exchange) == 0;
  require_started(options.ranks, exchange);
  const std::atomic<bool>& interrupt = catch_interrupts();
  Recipe recipe = load_recipe(options.recipe, options.overrides);
  if (options.profile && recipe.run.profile.active == 0) recipe.run.profile.active = kProfiledSteps;
  require_taken(recipe, options.seeds, options.teacher);
  // Start trackers before the budget is taken, which excludes the memory that they hold by then.
  std::shared_ptr<const TrackerProcess> trackers;
  if (is_rank_zero && !recipe.run.trackers.empty())
    trackers = std::make_shared<const TrackerProcess>(options.run, recipe.run.trackers);
  const int threads = options.resources.thread_count();
  const std::unique_ptr<TrainingDevice> device = open_device(options.device, options.ranks, threads);
  warm_up_torch(threads);
  Budget budget(options.resources, 0, kHeapSlack, /*may_be_below=*/true);
  std::unique_ptr<Enforcement> enforcement;
  std::optional<Progress> progress;
  const TrainRequest request{.input = {.data = options.data,
                                       .recipe = recipe,
                                       .threads = threads,
                                       .scratch = {.bytes = scratch_of(options)},
                                       .teacher = options.teacher},
                             .folder = options.run,
                             .seeds = options.seeds,
                             .stages = options.stages,
                             .verify_all = options.verify == "full",
                             .resume = options.resume,
                             .force = options.force,
                             .allow_other_rounding = options.allow_other_rounding,
                             .budget = budget.bytes(),
                             .facts = {{"build", build_id()}, {"limits", limits_json(find_limits())}},
                             .enforce =
                                 [&] {
                                   enforcement = enforce(options.enforce, budget,
                                                         threads + threads_that_read(options.data));
                                   return enforced_json(enforcement.get());
                                 },
                             .release = [&] { enforcement.reset(); },
                             .memory = [&] { return budget.report_json(); },
                             .trackers = std::move(trackers),
                             .run = {.threads = threads,
                                     .prefetch = options.prefetch,
                                     .device = device.get(),
                                     .outside_ledger = budget.outside_ledger(),
                                     .ranks = ranks_of(exchange),
                                     .exchange = exchange,
                                     .interrupt = &interrupt},
                             .progress_of =
                                 [&](const std::string& title, const char* unit) {
                                   if (is_rank_zero) progress.emplace(title, unit);
                                   return [&](int64_t done, int64_t total, const std::string& note) {
                                     if (progress) progress->update(done, total, note);
                                   };
                                 }};
  const TrainedRun trained = train_run(request);
  progress.reset();
  if (!is_rank_zero) return;
  const TrainReport report{.trained = &trained,
                           .run = options.run,
                           .threads = threads,
                           .enforced = enforced_json(enforcement.get())};
  if (options.json)
    print_json(report_json(report, budget));
  else
    print_report(report, budget);
  std::fflush(stdout);
  require_saved(trained.unsaved);
}

}  // namespace plimsoll
