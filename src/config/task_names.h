#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

/// The task that trains classes of trees in two stages.
inline constexpr std::string_view kTreeClassification = "tree_classification";

/// Adds the words of tasks that `config` does not know to the key `task`, and sets the default of that key. A
/// program calls it at its start, before it reads a recipe. The words must be constants.
void register_task_names(std::span<const std::string_view> names, std::string_view default_name);

/// Returns all words of the key `task`, sorted.
std::vector<std::string_view> task_names();
std::string default_task();

}  // namespace plimsoll
