#pragma once

#include "base/json.h"
#include "can/tasks/evaluation.h"

namespace plimsoll {

/// The fields of `evaluate --json` (docs/command-line.md); undefined metrics are null.
Json evaluation_json(const Evaluation& evaluation);

}  // namespace plimsoll
