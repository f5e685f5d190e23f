#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace plimsoll {

/// What `plimsoll top` shows of runs: each as RunStatus::look() has it. `width`: columns of the terminal.
/// `now`: seconds since 1970.
std::string run_screen(const std::vector<Json>& runs, int width, double now);

}  // namespace plimsoll
