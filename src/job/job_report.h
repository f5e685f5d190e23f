#pragma once

#include <filesystem>
#include <string>

#include "base/json.h"

namespace plimsoll {

/// What a run used of what its job had, from its manifest and its journals: the fields of `job-report --json`
/// (docs/command-line.md). What the run does not tell is null. Errors: InputError where `run` is no run.
Json job_report(const std::filesystem::path& run);

/// The same for people.
std::string job_report_text(const Json& report);

}  // namespace plimsoll
