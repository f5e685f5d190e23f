#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace plimsoll {

/// What to ingest, how and where to. docs/tu.md says what the words mean.
struct TuOptions {
  std::filesystem::path source = {};
  std::filesystem::path out = {};
  std::string node_features = "auto";   ///< auto, labels, attributes, degree, constant
  std::string target = "graph";         ///< graph; node: node labels are not features but the column node_y
  std::vector<int64_t> positions = {};  ///< the two or three node attributes that are not features but pos
  bool force = false;                   ///< replace an existing output
};

struct TuResult {
  bool already_there = false;  ///< the output held just this source: nothing was done
  int64_t graphs = 0;
  int64_t nodes = 0;
  int64_t edges = 0;
  int64_t classes = 0;  ///< of the target
  int64_t targets = 0;  ///< numbers to be predicted of a graph
  int64_t node_features = 0;
  int64_t edge_features = 0;
  int64_t source_bytes = 0;
};

/// Reads a data set for graph classification or regression in TU format into a `graph_set`, graph by graph.
/// What is held in memory is a few bytes a graph and 8 an arc, 12 and its features where arcs have such.
/// `progress` gets the graphs done and in all. Errors: InputError (file, line and column), UsageError
/// (options), BudgetExceeded; the output is then as it was.
TuResult ingest_tu(const TuOptions& options, const std::function<void(int64_t, int64_t)>& progress);

}  // namespace plimsoll
