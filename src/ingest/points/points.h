#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

namespace plimsoll {

/// Input, options and output of ingest_points(). docs/point-sets.md explains them.
struct PointsOptions {
  std::filesystem::path source = {};
  std::filesystem::path out = {};
  int64_t neighbours = 8;  ///< K: number of edges into a point, from its nearest other points.
  /// Coordinates per point in an array, 2 or 3; 0: three if points have that many numbers.
  int64_t dimensions = 0;
  std::filesystem::path labels = {};   ///< Class of each set, an array or a text; empty: read from the
                                       ///< source.
  std::filesystem::path targets = {};  ///< Regression targets of each set; empty: no targets.
  bool force = false;                  ///< Replace an existing output.
};

struct PointsResult {
  bool already_there = false;  ///< Whether the output already held this source, so that nothing was done.
  int64_t graphs = 0;
  int64_t nodes = 0;
  int64_t edges = 0;
  int64_t classes = 0;
  int64_t targets = 0;  ///< Regression targets per graph.
  int64_t node_features = 0;
  int64_t source_bytes = 0;
};

/// Makes a `graph_set` of point sets: nodes with coordinates, and edges into each point from its K nearest
/// other points. One set at a time is in memory. `progress` gets the number of graphs done, and the total or
/// 0 if it is unknown. Errors: InputError (file and line, or set and point), UsageError (options),
/// BudgetExceeded; the output is then unchanged.
PointsResult ingest_points(const PointsOptions& options,
                           const std::function<void(int64_t, int64_t)>& progress);

}  // namespace plimsoll
