#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace plimsoll {

/// The output of `plimsoll top` for runs, each as RunStatus::look() returns it. `width` is the number of
/// columns of the terminal, `now` the time in seconds since 1970.
std::string run_screen(const std::vector<Json>& runs, int width, double now);

}  // namespace plimsoll
