#pragma once

#include <filesystem>
#include <functional>

namespace plimsoll {

/// All files of a folder, in links to folders too. What a link leads to is visited once, and not again where
/// it lies below `root` itself, so that a link to a folder around it ends; one that leads nowhere is no file.
/// The order within a folder is that of the system. Errors: InputError (a folder that cannot be read),
/// BudgetExceeded.
void visit_files(const std::filesystem::path& root,
                 const std::function<void(const std::filesystem::path&)>& visit);

}  // namespace plimsoll
