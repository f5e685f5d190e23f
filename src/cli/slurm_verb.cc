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
#include "cli/plan_device.h"
#include "cli/train_verb.h"
#include "config/known_recipes.h"
#include "device/device_choice.h"
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

// Returns the budget of the largest stage, including an allowance because the floor varies between processes,
// rounded up to whole MiB.
int64_t budget_of(const StagePlans& plans) {
  constexpr int64_t kFloorVaries = 256 * kKiB;
  int64_t bytes = 0;
  for (const auto& [stage, plan] : plans)
    bytes = std::max({bytes, plan.peak + kFloorVaries, plan.min_budget});
  return (bytes + kMiB - 1) / kMiB * kMiB;
}

// Host memory of a process that uses CUDA: the driver's own pages (docs/gpu.md).
constexpr int64_t kCudaOnHost = 320 * kMiB;
// A rank is a Python process. Its interpreter and packages hold up to this much more memory than this
// program.
constexpr int64_t kMoreInPython = 128 * kMiB;
// A static plan may be a few percent too low, because torch allocates differently on a GPU (docs/gpu.md). The
// plan is increased by one part in this number.
constexpr int64_t kPlanVaries = 16;

bool is_stand_in(const SlurmOptions& options) {
  return parse_device(options.device.device).kind == DeviceChoice::Kind::stand_in;
}

// Returns the host memory that a process needs in its budget for its device: the driver and pinned memory.
int64_t host_bytes_of_device(const SlurmOptions& options, const StagePlans& plans) {
  int64_t pinned = 0;
  for (const auto& [stage, plan] : plans)
    if (plan.device) pinned = std::max(pinned, plan.device->staging);
  return pinned + (is_stand_in(options) ? 0 : kCudaOnHost);
}

// Returns the GPU of each process. The stand-in uses host memory outside the budget.
SlurmDevice device_of_job(const SlurmOptions& options, int64_t whole, const StagePlans& plans) {
  int64_t peak = 0;
  for (const auto& [stage, plan] : plans) peak = std::max(peak, plan.device->peak);
  const bool is_stated = plans.empty() || !options.device.budget.empty();
  const int64_t budget = is_stated ? whole : std::min(peak + peak / kPlanVaries, whole);
  // SLURM shows each process of the job one GPU, whose index is 0.
  return {.word = is_stand_in(options) ? "stand-in" : "cuda",
          .budget = budget,
          .model = options.device.model,
          .on_host = is_stand_in(options) ? budget : 0};
}

// Trains the first stage for options.trial seconds and returns the estimated seconds of the run; 0: no trial.
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
    throw Failure("sbatch refused the job, which was saved as " + name +
                  (job.device
                       ? "; if the cluster does not know the value of --gres, set `gres` in the site file to "
                         "a name that `sinfo -o %G` shows; if a node has too few GPUs, give fewer --ranks"
                       : ""));
}

fs::path folder_of(const SlurmOptions& options) {
  fs::path folder = fs::absolute(options.run).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();
  require_sbatch_path(folder);
  return folder;
}

// Returns the data sets that a command reads: the values of its --data.
std::vector<fs::path> data_of(const std::vector<std::string>& command) {
  constexpr std::string_view kJoined = "--data=";
  std::vector<fs::path> sets;
  const auto add = [&](const std::string& set) { sets.push_back(fs::absolute(set).lexically_normal()); };
  for (size_t i = 0; i < command.size(); ++i) {
    if (command[i] == "--data" && i + 1 < command.size()) add(command[i + 1]);
    if (command[i].starts_with(kJoined)) add(command[i].substr(kJoined.size()));
  }
  return sets;
}

// Returns whether a verb accepts --budget, --threads and --device. Other verbs detect the limits of their
// job.
bool takes_resources(const std::string& verb) {
  const auto known = trainer_verbs([](const auto&, RunsIn) {});
  return std::ranges::any_of(known, [&](const Verb& row) { return row.names.front() == verb; });
}

// Throws UsageError for a command that the job cannot run as written.
void require_command(const SlurmOptions& options) {
  if (options.command.empty()) return;
  const bool is_trainers = takes_resources(options.command.front());
  if (options.ranks > 1 && !is_trainers)
    throw UsageError(
        fmt::format("--ranks: {} runs in one process; leave out --ranks", options.command.front()));
  if (options.recipe.empty() && !options.overrides.empty())
    throw UsageError("-O: found no RECIPE to change; put -O after `--`, or leave it out");
  for (const std::string& word : options.command)
    for (const std::string_view own :
         {"--budget", "--threads", "--device", "--device-budget", "--device-model"})
      if (is_trainers && (word == own || word.starts_with(std::string(own) + "=")))
        throw UsageError(fmt::format("{}: the job sets it; give it before --", own));
}

// Returns the program that a job starts: the one next to this program or, in a Python package, the command
// that chooses plimsoll-train by the version of torch.
fs::path program_of_jobs() {
  const char* const given = std::getenv("PLIMSOLL_PROGRAM");
  if (given != nullptr && *given != '\0') return given;
  return fs::read_symlink("/proc/self/exe").parent_path() / "plimsoll";
}

// Returns the parts of a job that are known before planning.
SlurmJob job_of(const SlurmOptions& options, const fs::path& folder) {
  SlurmJob job{.program = program_of_jobs(),
               .run = folder,
               .command = options.command,
               .threads = options.resources.thread_count(),
               .ranks = options.ranks,
               .time_margin = options.time_margin,
               .stages = !options.in_place,
               .site = site_of(options)};
  for (const std::string& override : options.overrides)
    job.arguments.insert(job.arguments.end(), {"-O", override});
  if (!job.command.empty()) {
    job.arguments.clear();
    job.folder = fs::current_path();
    require_sbatch_path(job.folder);
    job.more_data = data_of(job.command);
    job.gives_resources = takes_resources(job.command.front());
  }
  return job;
}

// Returns the budget of a process for the plans and `more` bytes. `max` is the stated budget, which includes
// `more`, or else the budget of this machine, which does not.
int64_t budget_of_job(const SlurmOptions& options, const StagePlans& plans, int64_t more, int64_t max) {
  const int64_t needed = budget_of(plans) + more;
  if (options.resources.budget_text.empty()) return std::min(needed - more, max) + more;
  const int64_t smallest = largest_budget(plans).min_budget + more;
  if (smallest > max)
    throw BudgetTooSmall(
        fmt::format("the smallest budget that works is {} bytes ({}), including {} for the device's driver, "
                    "for pinned memory and, with several ranks, for Python; raise --budget",
                    smallest, format_bytes(smallest), format_bytes(more)));
  return std::min(needed, max);
}

// Plans the run of the recipe, and sets what the job requests for it.
void plan_job(const SlurmOptions& options, SlurmJob& job) {
  RunRequest request{.recipe = load_recipe(options.recipe, options.overrides),
                     .data = options.data,
                     .ranks = options.ranks,
                     .interrupt = &catch_interrupts()};
  const std::optional<PlannedCard> card = planned_card(options.device);
  if (card) {
    request.device_budget = card->budget;
    request.device_margin = card->margin;
    request.recipe.memory.estimation = Estimation::from_shapes;
  }
  warm_up_torch(job.threads);
  Budget budget(options.resources, 0, kHeapSlack, /*may_be_below=*/true, /*for_elsewhere=*/true);
  request.memory = budget.share(job.threads);
  const int64_t program_bytes = process_memory().file_backed;
  const StagePlans plans = plan_within(request);
  for (const auto& [stage, plan] : plans) {
    if (plan.device) require_feasible(*plan.device);
    require_feasible(plan);
  }
  const int64_t data_bytes = file_bytes(options.data);
  job.recipe = is_known_recipe(options.recipe) ? options.recipe : fs::absolute(options.recipe);
  job.data = fs::absolute(options.data).lexically_normal();
  job.page_cache = program_bytes + data_bytes;
  if (card) job.device = device_of_job(options, card->budget, plans);
  const int64_t more =
      (card ? host_bytes_of_device(options, plans) : 0) + (options.ranks > 1 ? kMoreInPython : 0);
  job.budget = budget_of_job(options, plans, more, budget.bytes());
  if (card || options.ranks > 1 || !options.command.empty())
    return;  // The trial would run in one process on the CPU.

  Ledger::process().set_cap(job.budget - budget.outside_ledger());
  request.memory.budget = job.budget;
  const double trained = seconds_of_run(options, request, plans);
  constexpr double kStart = 10;      // Seconds to start on a busy disk.
  constexpr double kStaged = 100e6;  // Bytes per second of a busy network disk.
  double planning = 0;
  for (const auto& [stage, plan] : plans) planning += plan.seconds;
  const double staging = job.stages ? static_cast<double>(data_bytes) / kStaged : 0;
  if (trained > 0) job.seconds = trained + staging + planning + kStart;
}

// Sets the resources of a job without a recipe, which the user states.
void state_job(const SlurmOptions& options, SlurmJob& job) {
  job.budget = parse_size(options.resources.budget_text, usable_memory(find_limits()));
  if (const std::optional<PlannedCard> card = planned_card(options.device))
    job.device = device_of_job(options, card->budget, {});
}

}  // namespace

void run_verb(const SlurmOptions& options, Exchange*) {
  require_command(options);
  SlurmJob job = job_of(options, folder_of(options));
  if (options.recipe.empty())
    state_job(options, job);
  else
    plan_job(options, job);
  const std::string script = slurm_script(job);
  if (options.submit) return submit(job, script);
  fmt::print("{}", script);
  // SLURM cannot write the job's output if the folder does not exist.
  save_printed([&] { make_folders(job.run.parent_path()); });
}

}  // namespace plimsoll
