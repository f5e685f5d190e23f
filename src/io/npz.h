#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace plimsoll {

/// Returns the bytes of an array in a .npz file, which is a zip archive of .npy files and may be larger than
/// 4 GiB. An empty `member` stands for the only one. Errors: InputError that names the file and its members,
/// if there is no such member, if `member` is empty and there are several, or if the member is compressed or
/// damaged.
std::span<const std::byte> npz_member(std::span<const std::byte> archive, const std::string& path,
                                      const std::string& member);

}  // namespace plimsoll
