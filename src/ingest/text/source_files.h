#pragma once

#include <filesystem>
#include <functional>

namespace plimsoll {

/// Calls visit() for all files of a folder, including those in linked folders. A linked folder is visited
/// only once, even if it is inside `root`, so that a link to a parent folder does not cause endless
/// recursion; a linked file is visited under each of its names. A dangling link is not a file. The order
/// within a folder is that of the system. Errors: InputError (a folder that cannot be read),
/// BudgetExceeded, those of visit().
void visit_files(const std::filesystem::path& root,
                 const std::function<void(const std::filesystem::path&)>& visit);

}  // namespace plimsoll
