#include "job/slurm_script.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/units.h"
#include "base/version.h"

namespace plimsoll {
namespace {

constexpr int64_t kMinute = 60;
constexpr int64_t kShortest = 3;  // Minutes.
// Time before the limit at which SLURM signals the job. The signal may arrive up to a minute earlier.
constexpr int64_t kSecondsToStop = 60;

std::string clock(int64_t minutes) {
  constexpr int64_t kHour = 60, kDay = 24 * kHour;
  const std::string time = fmt::format("{:02}:{:02}:00", minutes % kDay / kHour, minutes % kHour);
  return minutes < kDay ? time : fmt::format("{}-{}", minutes / kDay, time);
}

// Escapes a name for a file name that sbatch expands.
std::string as_pattern(const std::string& name) {
  std::string pattern;
  for (const char c : name) pattern.append(c == '%' ? 2 : 1, c);
  return pattern;
}

// Returns --mem in MiB for all processes of a job, including the host memory of their devices.
int64_t job_mib(const SlurmJob& job) {
  const int64_t process = job.budget + (job.device ? job.device->on_host : 0);
  return memory_mib(job.ranks * process, job.ranks * job.threads);
}

std::string header(const SlurmJob& job) {
  require_sbatch_path(job.run);
  const std::string name = job.run.filename().string();
  std::vector<std::string> options = {
      fmt::format("--job-name={}", shell_word(name)), "--nodes=1",
      fmt::format("--ntasks={}", job.ranks),          fmt::format("--cpus-per-task={}", job.threads),
      fmt::format("--mem={}M", job_mib(job)),         "--time=" + clock(limit_minutes(job))};
  if (job.device) options.push_back(fmt::format("--gres={}:{}", job.site.gres, job.ranks));
  if (!job.folder.empty()) options.push_back("--chdir=" + shell_word(job.folder.string()));
  for (const std::string& option : {fmt::format("--signal=B:USR1@{}", kSecondsToStop),
                                    std::string("--requeue"), std::string("--open-mode=append"),
                                    "--output=" + shell_word(as_pattern(job.run.string()) + ".slurm-%j.out")})
    options.push_back(option);
  std::string text = "#!/bin/bash\n";
  for (const std::string& option : options) text += "#SBATCH " + option + "\n";
  for (const std::string& option : job.site.sbatch) text += "#SBATCH " + option + "\n";
  return text;
}

std::string reasons_of_device(const SlurmJob& job) {
  if (!job.device) return {};
  return fmt::format(
      "# GPU: each process plans and reserves {}{}, and is refused before it trains if less is free.\n"
      "# If sbatch refuses --gres, set the site's key `gres` to a name that `sinfo -o %G` shows.\n",
      format_bytes(job.device->budget),
      job.device->model.empty() ? std::string() : " on a card of the model " + job.device->model);
}

std::string reasons(const SlurmJob& job) {
  std::string text = fmt::format(
      "# Made by `plimsoll slurm` {}. Submit it with sbatch{}.\n"
      "# Memory: {} at most {}; page cache for the program's own pages, {}; the rest of --mem is "
      "for\n"
      "# the shell, SLURM's step and page tables. More page cache helps, up to {} for the program and the "
      "data set,\n# but the job does not request it.\n",
      kVersion, job.command.empty() ? ": it requeues itself until the run is done" : "",
      job.ranks > 1 ? fmt::format("each of {} processes holds", job.ranks) : "the run holds",
      format_bytes(job.budget), format_bytes(kProgramPages), format_bytes(job.page_cache));
  if (job.seconds > 0)
    text += fmt::format("# Time: {} estimated from a trial, times {:.3g}.\n", format_seconds(job.seconds),
                        job.time_margin);
  else
    text += "# Time: unknown, because no speed was measured on such a node.\n";
  return text + reasons_of_device(job);
}

// The shell runs a trap only when its foreground command has ended, so long commands run in the background
// and the first signal is passed on to them. A second signal would end the program before its checkpoint; its
// trap may run inside the trap of the first signal.
constexpr const char* kSignals = R"(
asked= early= child=
pass_on() {
  trap : USR1 TERM
  test -z "$asked" || return 0
  asked=$1
  if test -n "$child"; then kill "-$1" "$child"; else early=$1; fi
}
trap 'pass_on USR1' USR1
trap 'pass_on TERM' TERM
in_reach() {
  early=
  test -z "$asked" || return 75
  "$@" &
  child=$!
  test -z "$early" || kill "-$early" "$child"
  while kill -0 "$child" 2>/dev/null; do wait "$child"; done
  wait "$child"
  code=$?
  child=
  return "$code"
}
)";

// 138: the signal arrived while the program was starting.
constexpr const char* kEndOfRun = R"(
code=$?
if test "$asked" = USR1 && { test "$code" = 75 || test "$code" = 138; }; then
  echo "plimsoll: the time limit is near, or another job has precedence; job $SLURM_JOB_ID continues in a later allocation"
  scontrol requeue "$SLURM_JOB_ID" && exit 0
fi
test "$code" = 75 || "$plimsoll" job-report "$run"
exit "$code"
)";

// Returns the lines that copy data sets to a disk of the node.
std::string staging(const SlurmJob& job) {
  std::vector<std::string> sets = {};
  if (!job.data.empty()) sets.emplace_back("\"$data\"");
  for (const auto& set : job.more_data) sets.push_back(shell_word(set.string()));
  if (!job.stages || sets.empty()) return {};
  return fmt::format(
      "export PLIMSOLL_CACHE=${{PLIMSOLL_CACHE:-{}}}\n"
      "for set in {}; do\n"
      "  in_reach \"$plimsoll\" stage \"$set\" || echo \"plimsoll: not staged; $set is read in place\"\n"
      "done\n",
      job.site.scratch.empty() ? "${SLURM_TMPDIR:-${TMPDIR:-/tmp}}/plimsoll" : job.site.scratch,
      fmt::join(sets, " "));
}

// Returns the command that starts the ranks: srun, or nothing for a single process. All ranks are on one
// node, so they connect over its loopback address. Without --cpus-per-task, srun would give each rank one
// processor. A rank that loses another rank ends by itself; with --kill-on-bad-exit, srun could end rank 0
// while it writes a checkpoint.
std::string launcher(const SlurmJob& job) {
  if (job.ranks == 1) return {};
  return fmt::format("srun --ntasks={} --cpus-per-task={}{} ", job.ranks, job.threads,
                     job.device ? " --gpus-per-task=1" : "");
}

std::string resources(const SlurmJob& job) {
  std::string text = fmt::format(" --budget {} --threads {}", job.budget, job.threads);
  if (!job.device) return text;
  text += fmt::format(" --device {} --device-budget {}", shell_word(job.device->word), job.device->budget);
  return job.device->model.empty() ? text : text + " --device-model " + job.device->model;
}

std::string work(const SlurmJob& job) {
  std::string text = job.ranks > 1 ? "export MASTER_ADDR=${MASTER_ADDR:-127.0.0.1}\n" : "";
  text += "in_reach " + launcher(job) + "\"$plimsoll\"";
  if (job.command.empty())
    text += fmt::format(" train {} --data \"$data\" --run \"$run\"", shell_word(job.recipe.string()));
  for (const std::string& word : job.command) text += fmt::format(" {}", shell_word(word));
  if (job.command.empty() || job.gives_resources) text += resources(job);
  if (job.command.empty()) text += " --resume";
  for (const std::string& argument : job.arguments) text += fmt::format(" {}", shell_word(argument));
  return text;
}

}  // namespace

std::string shell_word(const std::string& text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,%+@";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string word = "'";
  for (const char c : text) c == '\'' ? word += "'\\''" : word += c;
  return word + "'";
}

int64_t memory_mib(int64_t budget, int threads, int64_t page_cache) {
  // Measured with runs of 1 and 2 threads: 1.3 to 1.5 MiB with the kernel's share (bench/results/cluster.md).
  constexpr int64_t kShellAndStep = 1664 * kKiB;
  constexpr int64_t kThread = 64 * kKiB;  // Kernel stacks and tasks of the threads in each pool.
  constexpr int64_t kPageTables = 512;    // 8 bytes for each page of 4 KiB.
  const int64_t overhead = kShellAndStep + threads * kThread + budget / kPageTables;
  return (budget + overhead + page_cache + kMiB - 1) / kMiB;
}

int64_t limit_minutes(const SlurmJob& job) {
  constexpr double kUnknown = 24 * 3600;
  const double seconds = (job.seconds > 0 ? job.seconds * job.time_margin : kUnknown) + kSecondsToStop;
  const auto minutes = static_cast<int64_t>(std::ceil(seconds / kMinute));
  const int64_t min = std::max(minutes, kShortest);
  return job.site.max_minutes > 0 ? std::min(min, job.site.max_minutes) : min;
}

void require_sbatch_path(const std::filesystem::path& run) {
  if (run.string().find_first_of("\\\n") != std::string::npos)
    throw UsageError(run.string() +
                     ": has a backslash or a newline, which sbatch cannot read in the name of a job's "
                     "output; give --run another folder");
}

std::string slurm_script(const SlurmJob& job) {
  std::string text = header(job) + reasons(job);
  for (const std::string& line : job.site.setup) text += line + "\n";
  text += kSignals;
  text +=
      fmt::format("plimsoll={}\nrun={}\n", shell_word(job.program.string()), shell_word(job.run.string()));
  if (!job.data.empty()) text += fmt::format("data={}\n", shell_word(job.data.string()));
  text += staging(job) + work(job);
  return text + (job.command.empty() ? kEndOfRun : "\n");
}

}  // namespace plimsoll
