#pragma once

#include "run/run_folder.h"
#include "run/run_report.h"

namespace plimsoll {

/// Reads the records of training in the folder of a run: manifest, recipe, and metrics.csv of every seed and
/// stage. Missing files and fields are left out. Errors: InputError.
RunRecord read_run_record(const RunFolder& folder);

}  // namespace plimsoll
