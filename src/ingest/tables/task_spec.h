#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "io/arrow_stream.h"

namespace plimsoll {

/// One split of a task: a table of labels.
struct TaskSplit {
  std::string name;
  /// Opens the rows as a stream that the caller releases. It is called twice.
  std::function<void(ArrowArrayStream&)> open;
};

/// A task on the tables: rows of `entity`, each with a time and a target.
struct TaskSpec {
  std::string name, kind, type;
  std::string entity = {};  ///< The table whose keys are in the column `entity_column`.
  std::string entity_column = {};
  std::string time = {};    ///< Column of the times of seeds; empty without.
  std::string target = {};  ///< Column of what is to be predicted; empty without.
  /// The table whose keys the lists of targets are; empty unless the task is a recommendation.
  std::string destination = {};
  Json words = Json::object();  ///< What else its manifest says, but for the SQL.
  std::vector<TaskSplit> splits = {};
};

}  // namespace plimsoll
