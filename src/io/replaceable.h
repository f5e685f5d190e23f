#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "io/file_system.h"

namespace plimsoll {

/// Whether an output will have a file of this name, relative to its folder.
using WillHold = std::function<bool(const std::filesystem::path& file)>;

/// Whether what has the name of an output may be deleted for it: nothing, an empty folder, a data set (a
/// manifest.json of a kind that we write, not that of a run, and its columns; all columns where it is cut
/// short), or a folder whose files all have names of files that the output will have. What systems leave in
/// folders, as .DS_Store, goes along. Errors: Failure that names the first thing that may not.
void require_replaceable(const std::filesystem::path& out, const WillHold& will_hold = {},
                         FileSystem& files = FileSystem::disk());

/// Errors: Failure where one of the sources is the output or lies in it.
void require_outside(const std::filesystem::path& out, const std::vector<std::filesystem::path>& sources);

/// All of this before the work begins, for an output that may be there. Errors: Failure also where something
/// is there and is not to be replaced (`force`).
void require_free(const std::filesystem::path& out, bool force,
                  const std::vector<std::filesystem::path>& sources, const WillHold& will_hold = {});

/// For a file that is replaced wherever it is. Errors: Failure where one of the sources is it, or is a folder
/// that has it already.
void require_no_source(const std::filesystem::path& file, const std::vector<std::filesystem::path>& sources);

}  // namespace plimsoll
