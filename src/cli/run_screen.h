#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace plimsoll {

/// Returns the output of `plimsoll top`. `runs` has the result of RunStatus::look() for each run, `width` is
/// the number of columns of the terminal, at which lines break, and `now` is the time in seconds since 1970.
std::string run_screen(const std::vector<Json>& runs, int width, double now);

}  // namespace plimsoll
