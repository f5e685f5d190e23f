#pragma once

#include <filesystem>
#include <string>

namespace plimsoll {

/// Returns the prefix of make_beside()'s hidden names, .NAME.TAG. A long NAME is cut to leave space for the
/// rest of the name.
std::string hidden_prefix(const std::filesystem::path& path, const char* tag);

}  // namespace plimsoll
