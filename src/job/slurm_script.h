#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "config/site.h"

namespace plimsoll {

/// A run as a batch job. Paths are absolute: the job starts where it was submitted.
struct SlurmJob {
  std::filesystem::path program;  ///< The program plimsoll.
  std::filesystem::path recipe, data, run;
  /// Arguments of train, in addition to those that follow from the other members.
  std::vector<std::string> arguments = {};
  int threads = 1;
  int64_t budget = 0;        ///< Bytes.
  int64_t page_cache = 0;    ///< Bytes of files that should stay in memory, the program's own included.
  double seconds = 0;        ///< Duration of the run, staging included; 0 if unknown.
  double time_margin = 1.3;  ///< Factor between that duration and the time limit.
  bool stages = true;        ///< Whether it reads a copy of the data set on a disk of the node.
  Site site = {};
};

/// Minimum page cache of a job: the pages of the program that run all the time. With half of it, a job makes
/// no progress on a node that has read nothing of the program (bench/results/cluster.md).
inline constexpr int64_t kProgramPages = 64LL << 20;

/// Returns --mem in MiB: the budget, page cache, and what the shell, SLURM's own step and the kernel's tables
/// take.
int64_t memory_mib(int64_t budget, int threads, int64_t page_cache = kProgramPages);

/// Returns --time in minutes: at least 3, at most the site's maximum. A run that takes longer continues in
/// the next allocation.
int64_t limit_minutes(const SlurmJob& job);

/// Errors: UsageError for a run folder that no #SBATCH line can name, because it contains a backslash or a
/// newline.
void require_sbatch_path(const std::filesystem::path& run);

/// Returns the script for sbatch. It stages, trains with --resume, and prints the job report. At USR1, which
/// SLURM sends before the time limit, the run leaves a checkpoint and the job requeues itself. SLURM requeues
/// it at preemption and when a node fails. Signals after the first change nothing. Errors: those of
/// require_sbatch_path().
std::string slurm_script(const SlurmJob& job);

/// Returns a text as one word of a shell.
std::string shell_word(const std::string& text);

}  // namespace plimsoll
