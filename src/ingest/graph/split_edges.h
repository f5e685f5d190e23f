#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>

#include "io/file_system.h"
#include "store/graph.h"

namespace plimsoll {

/// Which edges of a graph to hold out, and where to write the rest.
struct EdgeSplitOptions {
  std::filesystem::path graph = {};  ///< a `graph` that is there
  std::filesystem::path out = {};
  double valid = 0.05;  ///< share of pairs of nodes with an edge that validates
  double test = 0.05;   ///< and that tests
  double train = 1;     ///< of those that stay, the share that trains
  uint64_t seed = 42;
  bool force = false;  ///< replace an existing output
};

struct EdgeSplitResult {
  bool already_there = false;  ///< the output held just this split: nothing was done
  bool undirected = false;     ///< every edge stands both ways, and is a pair once
  int64_t nodes = 0;
  int64_t edges = 0;                                 ///< that stay
  std::array<int64_t, kGraphSplits.size()> pairs{};  ///< of each split
};

/// Writes a `graph` again without the edges that are held out, both ways of a pair, with the pairs of each
/// split as columns train_edges, valid_edges and test_edges. The split of a pair is a function of (seed, its
/// two nodes) alone; self-loops stay, and are no pairs. Nothing is kept in memory but some thousand edges.
/// `progress` gets the edges done and in all, of two passes. Errors: InputError (no graph; rows that do not
/// ascend, or have a neighbour twice), UsageError (shares), Failure (disk, an output in the way).
EdgeSplitResult split_edges(const EdgeSplitOptions& options,
                            const std::function<void(int64_t, int64_t)>& progress,
                            FileSystem& files = FileSystem::disk());

}  // namespace plimsoll
