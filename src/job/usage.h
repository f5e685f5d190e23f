#pragma once

#include "base/json.h"

namespace plimsoll {

/// Returns what this process has used of the machine so far: {"cpu_seconds", "read_bytes", "written_bytes"
/// (of disks), "major_faults" (pages that were waited for), "slurm_job", "slurm_restart"}. Unknown values are
/// null.
Json usage_json();

}  // namespace plimsoll
