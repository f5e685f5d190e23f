#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "io/arrow_stream.h"

namespace plimsoll {

/// One split of a task: a table of labels.
struct TaskSplit {
  std::string name;
  /// Opens the rows as a stream, which the caller releases. It may be called twice for each attempt to build
  /// the graph.
  std::function<void(ArrowArrayStream&)> open;
};

/// The times, in nanoseconds since 1970-01-01, up to which seeds are in the splits train and val.
struct TimeCuts {
  int64_t val = 0;
  int64_t test = 0;
};

/// A task on the tables: rows of `entity`, each with a time and a target. `kind` and `type` are `kind` and
/// `task_type` of its manifest.
struct TaskSpec {
  std::string name, kind, type;
  std::string entity = {};  ///< The table whose keys are in the column `entity_column`.
  std::string entity_column = {};
  std::string time = {};    ///< Column with the times of seeds; empty: no times.
  std::string target = {};  ///< Column with the values to predict; empty: none.
  /// The table to whose keys the lists of targets refer; empty unless the task is a recommendation.
  std::string destination = {};
  Json words = Json::object();  ///< The rest of the task's manifest, without the SQL.
  std::vector<TaskSplit> splits = {};
  /// Set if the seeds are the rows of `entity` themselves (AutocompletePass), so that `splits` is empty.
  std::optional<TimeCuts> cuts = {};
};

}  // namespace plimsoll
