#pragma once

#include <filesystem>
#include <string>

namespace plimsoll {

/// What the hidden names of make_beside() begin with, .NAME.TAG. A NAME that would leave no room for the rest
/// of a name is cut short.
std::string hidden_prefix(const std::filesystem::path& path, const char* tag);

}  // namespace plimsoll
