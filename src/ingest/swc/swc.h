#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "ingest/swc/swc_tree.h"

namespace plimsoll {

/// Input, options and output of ingest_swc(). docs/trees.md explains them.
struct SwcOptions {
  std::vector<std::filesystem::path> sources = {};  ///< Folders, archives and files.
  std::filesystem::path out = {};
  std::filesystem::path labels = {};  ///< A table of files and their labels; empty: no classes.
  /// Node features. `depth` may be added.
  std::vector<std::string> features = {"radius", "children", "type"};
  /// Maximum distance between points after resampling, in the unit of the files; 0: the original points are
  /// kept.
  double step = 0;
  SwcTreeOptions tree = {};
  bool skip_errors = false;  ///< Count and skip invalid files, and labels without a file.
  bool force = false;        ///< Replace an existing output.
};

/// Counts of what was read or made. If `already_there`, only `graphs`, `nodes`, `edges` and `classes` are
/// set.
struct SwcResult {
  /// Whether the output had already been made from this source, so that nothing was done.
  bool already_there = false;
  int64_t files = 0;  ///< Number of files that became graphs.
  int64_t graphs = 0;
  int64_t points = 0;  ///< Number of points in these files.
  int64_t nodes = 0;
  int64_t edges = 0;
  int64_t skipped_files = 0, skipped_labels = 0;
  int64_t source_bytes = 0;  ///< Bytes of the texts, decompressed.
  SwcChanges changes = {};
  std::vector<std::string> classes = {};
};

/// Makes a `graph_set` of trees. Nodes have coordinates, parents precede their children, and each edge is
/// stored in both directions. One file at a time is in memory. `progress` is called with the number of graphs
/// done and 0, and may throw to stop; `note` is called with a message for each skipped file, and once for all
/// skipped labels. Errors: InputError (file and line), UsageError (options), Failure (disk), BudgetExceeded;
/// the output is then unchanged.
SwcResult ingest_swc(const SwcOptions& options, const std::function<void(int64_t, int64_t)>& progress,
                     const std::function<void(const std::string&)>& note);

}  // namespace plimsoll
