#pragma once

#include <string>
#include <vector>

#include "run/run_folder.h"

namespace plimsoll {

/// A trained detector of a run.
struct RunDetector {
  /// gat or vgae, or for a distillation one of gat_student, vgae_student, gat_alone, gat_teacher and
  /// vgae_teacher.
  std::string name;
  int64_t seed = 0;
  std::filesystem::path file;
};

/// The detectors of a run whose files exist, first by name in the order given at RunDetector::name, students
/// before teachers, then by seed. Errors: InputError if there is none, or if the run's manifest is damaged.
std::vector<RunDetector> detectors_of(const RunFolder& folder, const Recipe& recipe);

}  // namespace plimsoll
