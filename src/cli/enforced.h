#pragma once

#include <memory>

#include "base/json.h"
#include "cli/command.h"
#include "memory/enforce.h"

namespace plimsoll {

/// --enforce: has the kernel hold the process to the budget while the result lives, and says on stderr what
/// it refuses of that. Null where it was not asked for. Call it when the floor is measured; `threads` are
/// those of one stage.
std::unique_ptr<Enforcement> enforce(bool asked, const Budget& budget, int threads);

/// {"rlimit_data_bytes", "cgroup", "refused"}; null without an enforcement, and each where there is none.
Json enforced_json(const Enforcement* enforcement);

}  // namespace plimsoll
