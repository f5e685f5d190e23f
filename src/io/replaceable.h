#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "io/file_system.h"

namespace plimsoll {

/// Returns whether an output will have a file of this name, relative to its folder.
using WillHold = std::function<bool(const std::filesystem::path& file)>;

/// Checks that what exists at the path of an output, a folder, may be deleted. This holds if nothing exists,
/// or a link to nothing; for an empty folder; for a data set (a manifest.json of a kind that Plimsoll writes,
/// except a run, and its columns; any columns if the manifest is incomplete); and for a folder in which every
/// file has the name of a file of the output. Files that operating systems leave in folders, such as
/// .DS_Store, are deleted too. Errors: Failure that names the first file that may not be deleted, also for a
/// path that is a file.
void require_replaceable(const std::filesystem::path& out, const WillHold& will_hold = {},
                         FileSystem& files = FileSystem::disk());

/// Throws Failure if one of the sources is the output or is inside it.
void require_outside(const std::filesystem::path& out, const std::vector<std::filesystem::path>& sources);

/// Does both checks above. Call it before the work begins. Errors: Failure, also if an output exists and must
/// not be replaced (no `force`).
void require_free(const std::filesystem::path& out, bool force,
                  const std::vector<std::filesystem::path>& sources, const WillHold& will_hold = {});

/// Checks a file that will be replaced. Errors: Failure if the file is one of the sources, or already exists
/// in a folder that is a source.
void require_no_source(const std::filesystem::path& file, const std::vector<std::filesystem::path>& sources);

}  // namespace plimsoll
