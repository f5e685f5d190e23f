#include "cli/train_verb.h"

#include <fmt/format.h>

#include <cstdio>
#include <optional>

#include "base/error.h"
#include "cli/engine_session.h"
#include "cli/interrupt.h"
#include "cli/train_report.h"
#include "memory/limits.h"
#include "run/train_run.h"
#include "telemetry/progress.h"

namespace plimsoll {
namespace {

constexpr int64_t kProfiledSteps = 3;  // Number of steps that --profile traces.

Recipe recipe_of(const TrainOptions& options) {
  Recipe recipe = load_recipe(options.recipe, options.overrides);
  if (options.profile && recipe.run.profile.active == 0) recipe.run.profile.active = kProfiledSteps;
  return recipe;
}

// Returns the run that the command line requests; memory, device and ranks are not set.
RunRequest request_of(const TrainOptions& options) {
  return {.recipe = recipe_of(options),
          .data = options.data,
          .teacher = options.teacher,
          .folder = options.run,
          .seeds = options.seeds,
          .stages = options.stages,
          .verify_all = options.verify == "full",
          .resume = options.resume,
          .force = options.force,
          .allow_other_rounding = options.allow_other_rounding,
          .prefetch = options.prefetch,
          .scratch = {.bytes = options.scratch}};
}

// Shows the progress of a run and enforces the budget of the process.
class RunDisplay final : public RunObserver {
 public:
  // `enforced` is the data set of the run if the budget is to be enforced, otherwise null.
  RunDisplay(EngineSession& session, bool shows, const std::filesystem::path* enforced)
      : session_(session), shows_(shows), enforced_(enforced) {}

  void on_stage(const std::string& title, const char* unit) override {
    if (shows_) progress_.emplace(title, unit);
  }
  void on_progress(int64_t done, int64_t total, const std::string& note) override {
    if (progress_) progress_->update(done, total, note);
  }
  void note(const std::string& sentence) override { fmt::print(stderr, "plimsoll: note: {}\n", sentence); }
  Json enforce() override {
    if (enforced_ != nullptr) session_.enforce(*enforced_);
    return session_.enforced();
  }
  void release() override { session_.release(); }
  Json memory() override { return session_.budget().report_json(); }

 private:
  EngineSession& session_;
  const bool shows_;
  const std::filesystem::path* const enforced_;
  std::optional<Progress> progress_;
};

TrainedRun train_in(EngineSession& session, RunRequest request, bool enforces) {
  request.memory = session.memory();
  request.device = session.device();
  request.facts = {{"build", build_id()}, {"limits", limits_json(find_limits())}};
  RunDisplay display(session, request.writes(), enforces ? &request.data : nullptr);
  request.observer = &display;
  return train_run(request);
}

}  // namespace

void require_started(int ranks, const Exchange* exchange) {
  if (ranks > 1 && ranks != ranks_of(exchange))
    throw UsageError(fmt::format("--ranks is {}, but {} ranks were started; start that number of processes",
                                 ranks, ranks_of(exchange)));
}

void run_verb(const TrainOptions& options, Exchange* exchange) {
  require_started(options.ranks, exchange);
  RunRequest request = request_of(options);
  request.ranks = ranks_of(exchange);
  request.exchange = exchange;
  request.interrupt = &catch_interrupts();
  require_taken(request.recipe, request.seeds, request.teacher);
  // Start trackers before the budget is set, so that the memory they hold counts as part of the floor.
  if (request.writes() && !request.recipe.run.trackers.empty())
    request.trackers = std::make_shared<const TrackerProcess>(request.folder, request.recipe.run.trackers);
  EngineSession session(options.resources, options.device, exchange);
  const TrainedRun trained = train_in(session, request, options.enforce);
  if (!request.writes()) return;
  const TrainReport report{.trained = &trained,
                           .run = options.run,
                           .threads = session.memory().threads,
                           .enforced = session.enforced()};
  if (options.json)
    print_json(report_json(report, session.budget()));
  else
    print_report(report, session.budget());
  std::fflush(stdout);
  require_saved(trained.unsaved);
}

}  // namespace plimsoll
