#pragma once

#include <string>

namespace plimsoll {

/// Returns the Python interpreter that has the package: PLIMSOLL_PYTHON, which Python sets to its own
/// interpreter if it started this process, or else python3.
std::string python_program();

}  // namespace plimsoll
