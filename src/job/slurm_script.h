#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "config/site.h"

namespace plimsoll {

/// A run as a batch job. Paths are absolute: the job starts where it was submitted.
struct SlurmJob {
  std::filesystem::path program;  ///< plimsoll
  std::filesystem::path recipe, data, run;
  std::vector<std::string> arguments = {};  ///< of train, beside those that stand here
  int threads = 1;
  int64_t budget = 0;        ///< bytes
  int64_t page_cache = 0;    ///< bytes of files that it helps to keep in memory, the program's own among them
  double seconds = 0;        ///< that it takes, staging included; 0: not known
  double time_margin = 1.3;  ///< the time limit is so many times that
  bool stages = true;        ///< reads a copy of the data set on a disk of the node
  Site site = {};
};

/// Page cache that a job cannot do without: the program's pages that it runs through all the time. With half
/// of it a job on a node that has read nothing of the program does not get on (bench/results/cluster.md).
inline constexpr int64_t kProgramPages = 64LL << 20;

/// --mem in MiB: the budget, page cache, and what the shell, SLURM's own step and the kernel's tables take.
int64_t memory_mib(int64_t budget, int threads, int64_t page_cache = kProgramPages);

/// --time, in minutes: at least 3, at most the longest that the site allows. One whose run takes longer goes
/// on in the next allocation.
int64_t limit_minutes(const SlurmJob& job);

/// Errors: UsageError for the folder of a run that no #SBATCH line can name: with a backslash or a newline.
void require_sbatch_path(const std::filesystem::path& run);

/// The script for sbatch. It stages, trains with --resume, and prints the job report. At USR1, which SLURM
/// sends before the time limit, the run leaves a checkpoint and the job requeues itself; at preemption and
/// where a node fails SLURM requeues it. Signals after the first change nothing. Errors: as
/// require_sbatch_path().
std::string slurm_script(const SlurmJob& job);

/// A text as one word of a shell.
std::string shell_word(const std::string& text);

}  // namespace plimsoll
