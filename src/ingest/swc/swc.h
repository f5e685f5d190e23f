#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "ingest/swc/swc_tree.h"

namespace plimsoll {

/// SWC files to ingest, how and where to. docs/trees.md says what the words mean.
struct SwcOptions {
  std::vector<std::filesystem::path> sources = {};
  std::filesystem::path out = {};
  std::filesystem::path labels = {};  ///< a table of files and their labels; empty: no classes
  std::vector<std::string> features = {"radius", "children", "type"};  ///< of nodes; also depth
  double step = 0;                                                     ///< between points, um; 0: as they are
  SwcTreeOptions tree = {};
  bool skip_errors =
      false;           ///< files that are not right, and labels without a file, are counted and passed over
  bool force = false;  ///< replace an existing output
};

struct SwcResult {
  bool already_there = false;  ///< the output held just this source: nothing was done
  int64_t files = 0;           ///< that became graphs
  int64_t graphs = 0;
  int64_t points = 0;  ///< in these files
  int64_t nodes = 0;
  int64_t edges = 0;
  int64_t skipped_files = 0, skipped_labels = 0;
  int64_t source_bytes = 0;  ///< of texts
  SwcChanges changes = {};
  std::vector<std::string> classes = {};
};

/// Makes a `graph_set` of trees: nodes with coordinates, parents before children, and each edge both ways.
/// One file at a time is in memory. `progress` gets the graphs done, and 0; `note` what was passed over, and
/// why. Errors: InputError (file and line), UsageError (options), BudgetExceeded; the output is then as it
/// was.
SwcResult ingest_swc(const SwcOptions& options, const std::function<void(int64_t, int64_t)>& progress,
                     const std::function<void(const std::string&)>& note);

}  // namespace plimsoll
