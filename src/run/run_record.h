#pragma once

#include "run/run_folder.h"
#include "run/run_report.h"

namespace plimsoll {

/// What the folder of a run says of its training: manifest, recipe, and metrics.csv of every seed and stage.
/// What is missing is left out. Errors: InputError.
RunRecord read_run_record(const RunFolder& folder);

}  // namespace plimsoll
