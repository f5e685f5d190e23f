#pragma once

#include "run/run_folder.h"
#include "run/run_report.h"

namespace plimsoll {

/// Reads the records of training in the folder of a run: manifest, recipe, and metrics.csv of every seed and
/// stage. A missing metrics.csv and missing fields of the manifest are left out. Errors: InputError if the
/// manifest or the recipe is missing, or a metrics.csv is damaged; Failure.
RunRecord read_run_record(const RunFolder& folder);

}  // namespace plimsoll
