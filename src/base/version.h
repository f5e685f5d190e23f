#pragma once

namespace plimsoll {
inline constexpr const char* kVersion = "0.1.0";
}  // namespace plimsoll
