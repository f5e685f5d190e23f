#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace plimsoll {

/// What a cluster requires in each job, from a YAML file (docs/cluster.md). All keys are optional.
struct Site {
  std::vector<std::string> sbatch = {};  ///< Options of sbatch: "--account=PAS2022".
  std::vector<std::string> setup = {};   ///< Lines of shell before all others: "module load cuda/12.4.1".
  std::string scratch = {};              ///< Where data sets are staged, expanded by the job's shell.
  int64_t max_minutes = 0;               ///< Maximum time limit of the partition; 0 for none.
};

/// Errors: InputError (no such file); UsageError with file, line and column: not YAML, an unknown key, a
/// value that is no text or list of texts, a time that is not HH:MM:SS or minutes, a limit below 2 minutes.
Site load_site(const std::filesystem::path& path);
/// Reads a site from text. `name` is for the error texts.
Site parse_site(const std::string& text, const std::string& name);

/// Returns the minutes of a time in sbatch's notation, "90", "MM:SS", "HH:MM:SS", "D-HH:MM:SS", with seconds
/// rounded up; 0 for another text.
int64_t minutes_of(const std::string& time);

}  // namespace plimsoll
