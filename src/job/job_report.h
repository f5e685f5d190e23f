#pragma once

#include <filesystem>
#include <string>

#include "base/json.h"

namespace plimsoll {

/// Returns how much a run used of its job's resources, from its manifest and its journals: the fields of
/// `job-report --json` (docs/command-line.md). Unknown values are null. Errors: InputError if `run` is not a
/// run.
Json job_report(const std::filesystem::path& run);

/// Formats the report for people.
std::string job_report_text(const Json& report);

}  // namespace plimsoll
