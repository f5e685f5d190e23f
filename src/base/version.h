#pragma once

namespace plimsoll {
/// The version of Plimsoll, defined only here. CMakeLists.txt and pyproject.toml read this line.
inline constexpr const char* kVersion = "0.1.0";
}  // namespace plimsoll
