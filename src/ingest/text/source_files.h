#pragma once

#include <filesystem>
#include <functional>

namespace plimsoll {

/// Calls visit() for all files of a folder, also in links to folders. The target of a link is visited once,
/// and not again if it is inside `root`, so that a link to a parent folder does not lead to endless
/// recursion. A dangling link is not a file. The order within a folder is that of the system. Errors:
/// InputError (a folder that cannot be read), BudgetExceeded.
void visit_files(const std::filesystem::path& root,
                 const std::function<void(const std::filesystem::path&)>& visit);

}  // namespace plimsoll
