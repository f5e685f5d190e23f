#pragma once

#include <filesystem>
#include <string>

namespace plimsoll {

/// Returns the extension of a file's name with its dot, in lower case: ".mf4" for "LOG/00000170.MF4". Names
/// on memory cards of data loggers, and on Windows, may be in capitals.
std::string lower_ending(const std::filesystem::path& path);

/// Returns whether the extension of a file's name says that it is compressed: .zst or .gz, in any case.
bool is_compressed_name(const std::filesystem::path& path);

}  // namespace plimsoll
