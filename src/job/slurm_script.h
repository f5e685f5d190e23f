#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/site.h"

namespace plimsoll {

/// The GPU of each process of a job.
struct SlurmDevice {
  std::string word;        ///< The value of --device.
  int64_t budget = 0;      ///< Bytes of GPU memory that the process plans for and reserves.
  std::string model = {};  ///< The value of --device-model; empty: any.
  int64_t on_host = 0;     ///< Bytes of host memory that the device needs outside the budget of the process.
};

/// A run, or another command, as a batch job. Paths are absolute, because the job starts in the folder where
/// it was submitted.
struct SlurmJob {
  std::filesystem::path program;  ///< The program plimsoll.
  std::filesystem::path recipe = {}, data = {};
  std::filesystem::path run;
  /// Arguments of train, in addition to those that the other members determine.
  std::vector<std::string> arguments = {};
  /// A verb and its arguments, which run instead of `train`, in `folder`; empty: `train` with `recipe`.
  std::vector<std::string> command = {};
  std::filesystem::path folder = {};
  bool gives_resources = false;  ///< Whether `command` accepts --budget, --threads and --device.
  std::vector<std::filesystem::path> more_data = {};  ///< Data sets to stage, other than `data`.
  int threads = 1;                                    ///< Threads of each process.
  int ranks = 1;                                      ///< Number of processes, all on one node.
  std::optional<SlurmDevice> device = {};             ///< Absent: the job uses the CPU.
  int64_t budget = 0;                                 ///< Budget of each process in bytes.
  /// Bytes of page cache that would help, for files and the program. The script names it but does not
  /// request it.
  int64_t page_cache = 0;
  double seconds = 0;        ///< Duration of the run, including staging; 0 if unknown.
  double time_margin = 1.3;  ///< Factor by which the time limit exceeds `seconds`.
  bool stages = true;        ///< Whether the job reads a copy of the data set on a disk of the node.
  Site site = {};
};

/// Minimum page cache of a job: the pages of the program that are used all the time. With half of it, a job
/// makes no progress on a node that has read no file of the program yet (bench/results/cluster.md).
inline constexpr int64_t kProgramPages = 64LL << 20;

/// Returns --mem in MiB: the budget, the page cache, and the memory of the shell, of SLURM's own step and of
/// the kernel's tables. `budget` and `threads` are those of all processes together.
int64_t memory_mib(int64_t budget, int threads, int64_t page_cache = kProgramPages);

/// Returns --time in minutes: at least 3, but at most the site's maximum, and a day and a minute for a run of
/// unknown duration. A run that needs more time continues in the next allocation.
int64_t limit_minutes(const SlurmJob& job);

/// Throws UsageError for a run folder that no #SBATCH line can name, because it contains a backslash or a
/// newline.
void require_sbatch_path(const std::filesystem::path& run);

/// Returns the script for sbatch. It stages, trains with --resume, and prints the job report. On USR1, which
/// SLURM sends before the time limit, the run writes a checkpoint and the job requeues itself. SLURM requeues
/// it after preemption and when a node fails. Signals after the first have no effect. Ranks are started by
/// srun, each with its own GPU if the job has a device. A job with another command runs it once. Errors:
/// those of require_sbatch_path().
std::string slurm_script(const SlurmJob& job);

/// Returns a text quoted as one shell word.
std::string shell_word(const std::string& text);

}  // namespace plimsoll
