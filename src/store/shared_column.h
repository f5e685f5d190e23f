#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "store/data_set.h"

namespace plimsoll {

/// Makes the column `name` of `set` also a column of the data set that is being written to `folder`, without
/// reading it: by a hard link to its file. If the file system refuses the link, the file is copied and its
/// checksum is compared; a file that `set` itself links (linked_column.h) is then linked by a symbolic link.
/// Returns the column's entry for the manifest. `tick` is called now and then, and may throw to stop. Errors:
/// InputError (a copied column that is damaged), Failure (disk).
Json share_column(const DataSetView& set, const std::string& name, const std::filesystem::path& folder,
                  const std::function<void()>& tick, FileSystem& files = FileSystem::disk());

}  // namespace plimsoll
