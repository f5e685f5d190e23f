#pragma once

#include "base/json.h"

namespace plimsoll {

/// Returns how much of the machine this process has used so far: {"cpu_seconds", "read_bytes",
/// "written_bytes" (of disks), "major_faults" (pages that it waited for), "slurm_job", "slurm_restart"}.
/// Unknown values are null.
Json usage_json();

}  // namespace plimsoll
