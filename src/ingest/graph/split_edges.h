#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>

#include "io/file_system.h"
#include "store/graph.h"

namespace plimsoll {

/// The edges of a graph to hold out, and the output folder.
struct EdgeSplitOptions {
  std::filesystem::path graph = {};  ///< Folder of an existing `graph`.
  std::filesystem::path out = {};
  double valid = 0.05;  ///< Fraction of connected node pairs used for validation, above 0.
  double test = 0.05;   ///< Fraction used for testing; together with `valid` below 1.
  double train = 1;     ///< Fraction of the remaining pairs used for training, above 0 and up to 1.
  uint64_t seed = 42;
  bool force = false;  ///< Replace an existing output.
};

struct EdgeSplitResult {
  bool already_there = false;  ///< Whether the output was already this split, so that nothing was done.
  /// Whether every edge exists in both directions; both directions are then one pair. Not determined if
  /// already_there.
  bool undirected = false;
  int64_t nodes = 0;
  int64_t edges = 0;                                 ///< Number of edges that remain.
  std::array<int64_t, kGraphSplits.size()> pairs{};  ///< Number of pairs of each split.
};

/// Writes a copy of a `graph` without the held-out edges; both directions of a held-out pair are left out.
/// The pairs of the splits are in the columns train_edges, valid_edges and test_edges; the column edge_id is
/// not copied. The split of a pair depends only on the seed and its two nodes. Self-loops are kept, and are
/// not pairs. Only a few thousand edges are in memory at a time. `progress` is called with the number of
/// edges done and the total, over two passes; it may throw to stop. Errors: InputError (not a graph, a
/// damaged or already split one; rows that are not ascending, or list a neighbour twice), UsageError
/// (fractions), Failure (disk, an existing output), BudgetExceeded.
EdgeSplitResult split_edges(const EdgeSplitOptions& options,
                            const std::function<void(int64_t, int64_t)>& progress,
                            FileSystem& files = FileSystem::disk());

}  // namespace plimsoll
