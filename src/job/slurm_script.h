#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "config/site.h"

namespace plimsoll {

/// A run as a batch job. Paths are absolute, because the job starts in the folder where it was submitted.
struct SlurmJob {
  std::filesystem::path program;  ///< The program plimsoll.
  std::filesystem::path recipe, data, run;
  /// Arguments of train, in addition to those that the other members determine.
  std::vector<std::string> arguments = {};
  int threads = 1;
  int64_t budget = 0;        ///< Bytes.
  int64_t page_cache = 0;    ///< Bytes of files that should stay in memory, including those of the program.
  double seconds = 0;        ///< Duration of the run, staging included; 0 if unknown.
  double time_margin = 1.3;  ///< Time limit divided by that duration.
  bool stages = true;        ///< Whether it reads a copy of the data set on a disk of the node.
  Site site = {};
};

/// Minimum page cache of a job: the pages of the program that are used all the time. With half of it, a job
/// makes no progress on a node that has read no file of the program yet (bench/results/cluster.md).
inline constexpr int64_t kProgramPages = 64LL << 20;

/// Returns --mem in MiB: the budget, the page cache, and the memory of the shell, of SLURM's own step and of
/// the kernel's tables.
int64_t memory_mib(int64_t budget, int threads, int64_t page_cache = kProgramPages);

/// Returns --time in minutes: at least 3, at most the site's maximum. A run that needs more time continues in
/// the next allocation.
int64_t limit_minutes(const SlurmJob& job);

/// Throws UsageError for a run folder that no #SBATCH line can name, because it contains a backslash or a
/// newline.
void require_sbatch_path(const std::filesystem::path& run);

/// Returns the script for sbatch. It stages, trains with --resume, and prints the job report. At USR1, which
/// SLURM sends before the time limit, the run writes a checkpoint and the job requeues itself. SLURM requeues
/// it after preemption and when a node fails. Signals after the first have no effect. Errors: those of
/// require_sbatch_path().
std::string slurm_script(const SlurmJob& job);

/// Returns a text quoted as one word of a shell.
std::string shell_word(const std::string& text);

}  // namespace plimsoll
