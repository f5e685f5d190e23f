#pragma once

#include <filesystem>
#include <string>

namespace plimsoll {

/// Returns the prefix ".NAME.TAG." of the hidden names that make_beside() uses. A long NAME is cut to leave
/// space for the rest.
std::string hidden_prefix(const std::filesystem::path& path, const char* tag);

}  // namespace plimsoll
