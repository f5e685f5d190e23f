#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

namespace plimsoll {

/// Input, options and output of ingest_points(). docs/point-sets.md explains them.
struct PointsOptions {
  std::filesystem::path source = {};
  std::filesystem::path out = {};
  int64_t neighbours = 8;  ///< K, 1 to 65,535: number of nearest other points with an edge to a point.
  /// Number of coordinates per point in an array, 2 or 3; 0: 3 if points have at least three numbers,
  /// otherwise 2.
  int64_t dimensions = 0;
  /// Classes of the sets, an array or a text; empty: read from the source.
  std::filesystem::path labels = {};
  /// Regression targets of the sets, an array or a text; empty: no targets.
  std::filesystem::path targets = {};
  bool force = false;  ///< Replace an existing output.
};

struct PointsResult {
  /// Whether the output had already been made from this source, so that nothing was done.
  bool already_there = false;
  int64_t graphs = 0;
  int64_t nodes = 0;
  int64_t edges = 0;
  int64_t classes = 0;
  int64_t targets = 0;  ///< Number of regression targets per graph.
  int64_t node_features = 0;
  int64_t source_bytes = 0;
};

/// Makes a `graph_set` from point sets. Nodes have coordinates, and each has edges from its K nearest other
/// points. Points without features get one feature, `constant`, which is 1. One set at a time is in memory.
/// `progress` is called with the number of graphs done and the total, or 0 if the total is unknown; it may
/// throw to stop. Errors: InputError (file and line, or set and point), UsageError (options), Failure (disk),
/// BudgetExceeded, Interrupted; the output is then unchanged.
PointsResult ingest_points(const PointsOptions& options,
                           const std::function<void(int64_t, int64_t)>& progress);

}  // namespace plimsoll
