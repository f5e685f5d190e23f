#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace plimsoll {

/// Returns the bytes of an array in a .npz file, which is a zip archive of .npy files and may be larger than
/// 4 GiB. An empty `member` stands for the only one. Errors: InputError that names the file and its members:
/// no such member, several members, a compressed or damaged one.
std::span<const std::byte> npz_member(std::span<const std::byte> archive, const std::string& path,
                                      const std::string& member);

}  // namespace plimsoll
