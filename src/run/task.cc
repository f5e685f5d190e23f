#include "run/task.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "store/graph.h"
#include "store/graph_set.h"

namespace plimsoll {

namespace {

std::vector<NamedTask>& known_tasks() {
  static std::vector<NamedTask> all;
  return all;
}

}  // namespace

void register_tasks(std::span<const NamedTask> tasks) {
  const std::vector<std::string_view> names = task_names();
  for (const NamedTask& task : tasks)
    if (std::ranges::find(names, task.name) == names.end())
      throw Failure(
          fmt::format("task '{}' is missing in the task names of recipes (config/task_names.h)", task.name));
  known_tasks().assign(tasks.begin(), tasks.end());
}

const Task& find_task(std::string_view name) {
  for (const NamedTask& known : known_tasks())
    if (name == known.name) return known.find();
  throw UsageError(fmt::format("task '{}' is unknown", name));
}

std::string tasks_that(bool (Task::*takes)() const) {
  std::vector<std::string_view> names;
  for (const NamedTask& known : known_tasks())
    if ((known.find().*takes)()) names.push_back(known.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

void require_kind(const std::filesystem::path& data, const Recipe& recipe,
                  const std::vector<std::string>& kinds) {
  const std::string kind = kind_of(data);
  const auto is_for = [&](const char* name) { return std::ranges::find(kinds, name) != kinds.end(); };
  if (is_for(kind.c_str())) return;
  if (kind == kGraphKind)
    throw UsageError(
        fmt::format("task '{}' is not for one giant graph; set task: node_classification, node_regression, "
                    "node_multilabel_classification or link_prediction",
                    recipe.task));
  if (kinds == std::vector<std::string>{kGraphKind})
    throw UsageError(
        fmt::format("{}: found a data set of kind '{}', but task {} is for one giant graph; "
                    "make one with `plimsoll ingest graph`, and for link_prediction split it with "
                    "`plimsoll split-edges`",
                    data.string(), kind, recipe.task));
  if (kind == kGraphSetKind && kinds.size() == 1)
    throw UsageError(
        fmt::format("task '{}' needs a data set of {}; for a graph_set, set task: graph_classification",
                    recipe.task, kinds.front()));
  throw UsageError(fmt::format("{}: found a data set of kind '{}', which is not for task '{}'", data.string(),
                               kind, recipe.task));
}

}  // namespace plimsoll
