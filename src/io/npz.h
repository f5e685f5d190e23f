#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace plimsoll {

/// Returns the bytes of a member of a .npz file: a whole .npy file, as a part of `archive`. A .npz file is a
/// zip archive of .npy files and may be larger than 4 GiB. `archive` has all its bytes, and `path` is for the
/// error texts. `member` is a name without ".npy"; an empty one stands for the only member. Errors:
/// InputError that names the file and its members, if there is no such member, if `member` is empty and there
/// are several, or if the member is compressed or damaged.
std::span<const std::byte> npz_member(std::span<const std::byte> archive, const std::string& path,
                                      const std::string& member);

}  // namespace plimsoll
