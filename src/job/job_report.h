#pragma once

#include <filesystem>
#include <string>

#include "base/json.h"

namespace plimsoll {

/// Returns the resources of its job that a run used, from its manifest and journals: the fields of
/// `job-report --json` (docs/command-line.md). Unknown values are null. Errors: InputError if `run` is not a
/// run.
Json job_report(const std::filesystem::path& run);

/// Returns the report as readable text.
std::string job_report_text(const Json& report);

}  // namespace plimsoll
