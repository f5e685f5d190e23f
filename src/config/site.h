#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace plimsoll {

/// Settings that a cluster requires in each job, from a YAML file (docs/cluster.md). All keys are optional.
struct Site {
  std::vector<std::string> sbatch = {};  ///< Options of sbatch: "--account=PAS2022".
  std::vector<std::string> setup = {};   ///< Shell lines that run before all others: "module load
                                         ///< cuda/12.4.1".
  std::string scratch = {};              ///< Folder in which data sets are staged, expanded by the job's
                                         ///< shell.
  std::string gres = "gpu";              ///< Generic resource of a GPU in sbatch's notation, without a
                                         ///< count: "gpu" or "gpu:v100".
  int64_t max_minutes = 0;               ///< Maximum time limit of the partition, in minutes; 0: none.
};

/// Loads a site from a file with the keys sbatch, setup, scratch, gres and max_time (max_minutes). Errors:
/// InputError (the file cannot be read); UsageError with file, line and column: not YAML, an unknown key, a
/// value that is not a text or a list of texts, an option of sbatch that does not begin with "-", a gres with
/// a count, a time that minutes_of() does not know, a limit below 2 minutes.
Site load_site(const std::filesystem::path& path);
/// Reads a site from text. `name` is for the error texts. Errors: the UsageErrors of load_site().
Site parse_site(const std::string& text, const std::string& name);

/// Converts a time in sbatch's notation ("90", "MM:SS", "HH:MM:SS", "D-HH", "D-HH:MM", "D-HH:MM:SS") to
/// minutes, rounded up; returns 0 for any other text.
int64_t minutes_of(const std::string& time);

}  // namespace plimsoll
