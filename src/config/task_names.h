#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

/// The task that learns classes of trees, both from pretrained weights and from scratch.
inline constexpr std::string_view kTreeClassification = "tree_classification";

/// Adds the names of tasks that `config` does not know to the words of the key `task`, and sets its default.
/// A program calls it when it starts, before it reads a recipe. The texts must live as long as the program.
/// Not thread-safe.
void register_task_names(std::span<const std::string_view> names, std::string_view default_name);

/// Returns all values of the key `task`, sorted.
std::vector<std::string_view> task_names();
/// Returns the default of the key `task`.
std::string default_task();

}  // namespace plimsoll
