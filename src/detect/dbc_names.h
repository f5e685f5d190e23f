#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace plimsoll {

/// Names of messages by can_id, extended ones with SocketCAN's flag: the lines `BO_ ID NAME: LENGTH SENDER`
/// of a DBC. Other lines are passed over. Errors: InputError with file and line for a message that is none.
std::map<uint32_t, std::string> read_dbc_names(const std::filesystem::path& path);

}  // namespace plimsoll
