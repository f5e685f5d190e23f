#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace plimsoll {

/// What a cluster wants in each job, from a file of YAML (docs/cluster.md). All keys may be missing.
struct Site {
  std::vector<std::string> sbatch = {};  ///< options of sbatch: "--account=PAS2022"
  std::vector<std::string> setup = {};   ///< lines of shell in front of all else: "module load cuda/12.4.1"
  std::string scratch = {};              ///< where data sets are staged, expanded by the job's shell
  int64_t max_minutes = 0;               ///< the longest time limit of the partition; 0: none
};

/// Errors: InputError (no such file); UsageError with file, line and column: not YAML, an unknown key, a
/// value that is no text or list of texts, a time that is not HH:MM:SS or minutes, a limit below 2 minutes.
Site load_site(const std::filesystem::path& path);
/// The same from text; `name` is for the error texts.
Site parse_site(const std::string& text, const std::string& name);

/// Minutes of a time as sbatch writes it, "90", "MM:SS", "HH:MM:SS", "D-HH:MM:SS", seconds rounded up; 0 for
/// another text.
int64_t minutes_of(const std::string& time);

}  // namespace plimsoll
