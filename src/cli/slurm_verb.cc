#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "base/units.h"
#include "cli/interrupt.h"
#include "cli/train_verb.h"
#include "config/known_recipes.h"
#include "engine/plan/planner.h"
#include "engine/plan/warm_up.h"
#include "io/file.h"
#include "job/slurm_script.h"
#include "job/stage.h"
#include "memory/limits.h"
#include "run/plan_run.h"
#include "run/trial_run.h"
#include "store/data_set.h"
#include "telemetry/progress.h"

extern char** environ;

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

Site site_of(const SlurmOptions& options) {
  if (!options.site.empty()) return load_site(options.site);
  if (const char* const named = std::getenv("PLIMSOLL_SITE"); named != nullptr && *named != 0)
    return load_site(named);
  const char* const home = std::getenv("HOME");
  const fs::path usual = fs::path(home != nullptr ? home : "/") / ".config" / "plimsoll" / "site.yaml";
  return fs::exists(usual) ? load_site(usual) : Site();
}

int64_t file_bytes(const fs::path& data) {
  const DataSetView set(data);
  int64_t bytes = 0;
  for (const auto& [name, column] : set.columns())
    bytes += static_cast<int64_t>(column.file().bytes().size());
  return bytes;
}

// The maximum that any stage holds, plus an allowance because the floor varies between processes, rounded up
// to whole MiB.
int64_t budget_of(const StagePlans& plans) {
  constexpr int64_t kFloorVaries = 256 * kKiB;
  int64_t bytes = 0;
  for (const auto& [stage, plan] : plans)
    bytes = std::max({bytes, plan.peak + kFloorVaries, plan.min_budget});
  return (bytes + kMiB - 1) / kMiB * kMiB;
}

double seconds_of_run(const SlurmOptions& options, RunRequest request, const StagePlans& plans) {
  if (options.trial == 0) return 0;
  std::optional<Progress> progress(std::in_place, "trial", "seconds");
  if (plans.size() > 1) request.stages = {plans.front().first};
  progress->update(0, options.trial);
  const TrialRun trial = try_run(request, static_cast<double>(options.trial), fs::temp_directory_path());
  progress.reset();
  return expected_seconds(plans, trial, request.recipe.training.max_epochs);
}

// The trial took time, so a script that cannot be saved is printed.
void save_script(const fs::path& file, const std::string& script) {
  Unsaved unsaved;
  unsaved.attempt([&] {
    make_folders(file.parent_path());
    write_text(file, script);
  });
  if (!unsaved.text().empty()) fmt::print("{}", script);
  require_saved(unsaved);
}

void submit(const SlurmJob& job, const std::string& script) {
  const fs::path file = job.run.string() + ".sbatch";
  save_script(file, script);
  std::string program = "sbatch", name = file.string();
  char* const arguments[] = {program.data(), name.data(), nullptr};
  pid_t child = 0;
  const int refused = posix_spawnp(&child, "sbatch", nullptr, nullptr, arguments, environ);
  if (refused != 0)
    throw Failure(
        fmt::format("sbatch cannot be started: {}; the job was saved as {}", std::strerror(refused), name));
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw Failure("sbatch refused the job, which was saved as " + name);
}

}  // namespace

void run_verb(const SlurmOptions& options, Exchange*) {
  const std::atomic<bool>& interrupt = catch_interrupts();
  fs::path folder = fs::absolute(options.run).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();
  require_sbatch_path(folder);
  const Site site = site_of(options);
  RunRequest request{.recipe = load_recipe(options.recipe, options.overrides),
                     .data = options.data,
                     .interrupt = &interrupt};
  const int threads = options.resources.thread_count();
  warm_up_torch(threads);
  Budget budget(options.resources, 0, kHeapSlack, /*may_be_below=*/true, /*for_elsewhere=*/true);
  request.memory = budget.share(threads);
  const int64_t program_bytes = process_memory().file_backed;
  const StagePlans plans = plan_within(request);
  for (const auto& [stage, plan] : plans) require_feasible(plan);

  const fs::path self = fs::read_symlink("/proc/self/exe");
  const int64_t data_bytes = file_bytes(options.data);
  SlurmJob job{.program = self.parent_path() / "plimsoll",
               .recipe = is_known_recipe(options.recipe) ? options.recipe : fs::absolute(options.recipe),
               .data = fs::absolute(options.data).lexically_normal(),
               .run = folder,
               .threads = threads,
               .budget = std::min(budget_of(plans), budget.bytes()),
               .page_cache = program_bytes + data_bytes,
               .time_margin = options.time_margin,
               .stages = !options.in_place,
               .site = site};
  for (const std::string& override : options.overrides)
    job.arguments.insert(job.arguments.end(), {"-O", override});

  Ledger::process().set_cap(job.budget - budget.outside_ledger());
  request.memory.budget = job.budget;
  const double trained = seconds_of_run(options, request, plans);
  constexpr double kStart = 10;      // Seconds to start on a busy disk.
  constexpr double kStaged = 100e6;  // Bytes per second of a busy network disk.
  double planning = 0;
  for (const auto& [stage, plan] : plans) planning += plan.seconds;
  const double staging = job.stages ? static_cast<double>(data_bytes) / kStaged : 0;
  if (trained > 0) job.seconds = trained + staging + planning + kStart;

  const std::string script = slurm_script(job);
  if (options.submit) return submit(job, script);
  fmt::print("{}", script);
  // SLURM cannot write the job's output if the folder does not exist.
  save_printed([&] { make_folders(job.run.parent_path()); });
}

}  // namespace plimsoll
