#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

namespace plimsoll {

/// Point sets to ingest, how and where to. docs/point-sets.md says what the words mean.
struct PointsOptions {
  std::filesystem::path source = {};
  std::filesystem::path out = {};
  int64_t neighbours = 8;              ///< K: edges into a point, from its nearest others
  int64_t dimensions = 0;              ///< coordinates of a point in an array, 2 or 3; 0: three if there are
  std::filesystem::path labels = {};   ///< class of each set, an array or a text; empty: as the source says
  std::filesystem::path targets = {};  ///< numbers to be predicted of each set; empty: none
  bool force = false;                  ///< replace an existing output
};

struct PointsResult {
  bool already_there = false;  ///< the output held just this source: nothing was done
  int64_t graphs = 0;
  int64_t nodes = 0;
  int64_t edges = 0;
  int64_t classes = 0;
  int64_t targets = 0;  ///< numbers to be predicted of a graph
  int64_t node_features = 0;
  int64_t source_bytes = 0;
};

/// Makes a `graph_set` of point sets, set by set: nodes with coordinates, and edges into each point from its
/// K nearest others. One set at a time is in memory. `progress` gets the graphs done, and in all where that
/// is known, else 0. Errors: InputError (file and line, or set and point), UsageError (options),
/// BudgetExceeded; the output is then as it was.
PointsResult ingest_points(const PointsOptions& options,
                           const std::function<void(int64_t, int64_t)>& progress);

}  // namespace plimsoll
