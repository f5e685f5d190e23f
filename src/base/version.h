#pragma once

namespace plimsoll {
/// The one place of it: CMakeLists.txt and pyproject.toml read this line.
inline constexpr const char* kVersion = "0.1.0";
}  // namespace plimsoll
