#pragma once

#include <filesystem>
#include <functional>

namespace plimsoll {

/// Calls visit() for all files of a folder, including those in linked folders. The target of a link is
/// visited only once, even if it is inside `root`, so that a link to a parent folder does not cause endless
/// recursion. A dangling link is not a file. The order within a folder is that of the system. Errors:
/// InputError (a folder that cannot be read), BudgetExceeded.
void visit_files(const std::filesystem::path& root,
                 const std::function<void(const std::filesystem::path&)>& visit);

}  // namespace plimsoll
