#pragma once

#include "base/json.h"

namespace plimsoll {

/// What this process used of the machine so far: {"cpu_seconds", "read_bytes", "written_bytes" (of disks),
/// "major_faults" (pages that were waited for), "slurm_job", "slurm_restart"}; null where the system does not
/// say.
Json usage_json();

}  // namespace plimsoll
