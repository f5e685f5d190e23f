#pragma once

#include <memory>

#include "base/json.h"
#include "cli/command.h"
#include "memory/enforce.h"

namespace plimsoll {

/// --enforce: has the kernel hold the process to the budget while the result lives, and reports on stderr
/// what the kernel refuses. Null if not requested. Call it after the floor is measured; `threads` are those
/// of one stage.
std::unique_ptr<Enforcement> enforce(bool is_requested, const Budget& budget, int threads);

/// Returns {"rlimit_data_bytes", "cgroup", "refused"}; null without an enforcement, and null for absent
/// values.
Json enforced_json(const Enforcement* enforcement);

}  // namespace plimsoll
