#include "config/task_names.h"

#include <algorithm>
#include <array>

namespace plimsoll {
namespace {

// The tasks of the engine, whatever else a program registers. run/task.h has their interface.
constexpr auto kEngineTasks = std::to_array<std::string_view>(
    {"graph_classification", "graph_regression", "link_prediction", "node_classification",
     "node_multilabel_classification", "node_regression", "relational", kTreeClassification,
     "tree_pretraining"});

struct KnownTaskNames {
  std::vector<std::string_view> names{kEngineTasks.begin(), kEngineTasks.end()};
  std::string_view default_name = kEngineTasks.front();
};

KnownTaskNames& known_task_names() {
  static KnownTaskNames known;
  return known;
}

}  // namespace

void register_task_names(std::span<const std::string_view> names, std::string_view default_name) {
  KnownTaskNames& known = known_task_names();
  known.names.insert(known.names.end(), names.begin(), names.end());
  std::ranges::sort(known.names);
  known.names.erase(std::ranges::unique(known.names).begin(), known.names.end());
  known.default_name = default_name;
}

std::vector<std::string_view> task_names() {
  return known_task_names().names;
}

std::string default_task() {
  return std::string(known_task_names().default_name);
}

}  // namespace plimsoll
