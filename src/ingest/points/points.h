#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

namespace plimsoll {

/// Input, options and output of ingest_points(). docs/point-sets.md explains them.
struct PointsOptions {
  std::filesystem::path source = {};
  std::filesystem::path out = {};
  int64_t neighbours = 8;  ///< K: edges into a point from its nearest others.
  /// Coordinates per point in an array, 2 or 3; 0 means three if there are as many.
  int64_t dimensions = 0;
  std::filesystem::path labels = {};   ///< Class of each set, an array or a text; empty: from the source.
  std::filesystem::path targets = {};  ///< Regression targets of each set; empty: none.
  bool force = false;                  ///< Replace an existing output.
};

struct PointsResult {
  bool already_there = false;  ///< The output already held this source, so nothing was done.
  int64_t graphs = 0;
  int64_t nodes = 0;
  int64_t edges = 0;
  int64_t classes = 0;
  int64_t targets = 0;  ///< Regression targets per graph.
  int64_t node_features = 0;
  int64_t source_bytes = 0;
};

/// Makes a `graph_set` of point sets: nodes with coordinates, and edges into each point from its K nearest
/// others. One set at a time is in memory. `progress` gets the number of graphs done, and the total or 0 if
/// it is not known. Errors: InputError (file and line, or set and point), UsageError (options),
/// BudgetExceeded; the output is then unchanged.
PointsResult ingest_points(const PointsOptions& options,
                           const std::function<void(int64_t, int64_t)>& progress);

}  // namespace plimsoll
