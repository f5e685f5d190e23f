#pragma once

#include <string>
#include <vector>

#include "run/run_folder.h"

namespace plimsoll {

/// A trained detector of a run.
struct RunDetector {
  std::string name;  ///< gat, or for a distillation one of gat_student, vgae_student, gat_alone, gat_teacher,
                     ///< vgae_teacher.
  int64_t seed = 0;
  std::filesystem::path file;
};

/// The detectors of a run in the order of their names and then of seeds, with students first. Errors:
/// InputError if there is none.
std::vector<RunDetector> detectors_of(const RunFolder& folder, const Recipe& recipe);

}  // namespace plimsoll
