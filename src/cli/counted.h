#pragma once

#include <cstdint>
#include <string>

namespace plimsoll {

/// Formats a count and its noun, such as "1 edge", "1,200 edges" or "2 classes".
std::string counted(int64_t count, const std::string& noun);

}  // namespace plimsoll
