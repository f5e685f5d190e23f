#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "io/file_system.h"

namespace plimsoll {

/// The graph to generate, which docs/giant-graphs.md describes.
struct GraphSimulation {
  int64_t nodes = 0;                    ///< V, at most 2^32.
  double degree = 20;                   ///< Approximate mean degree, 0 to 1,000,000.
  int64_t features = 0;                 ///< Features per node, F, up to 65,536.
  std::string features_dtype = "auto";  ///< Same as in GraphIngestOptions.
  int64_t classes = 2;                  ///< Number of communities, at most V and 65,536. Each is a class.
  uint64_t seed = 1;
  std::filesystem::path out = {};
  int threads = 1;
  bool force = false;  ///< Replace an existing output.
};

struct GraphSimulationResult {
  bool already_there = false;  ///< Whether the output was already this graph, so that nothing was done.
  int64_t nodes = 0;
  int64_t edges = 0;
};

/// Generates a `graph` of any size, with communities and hubs, and with features and labels from which a
/// network can learn. Only a few thousand nodes per thread, and F numbers for each class, are in memory at a
/// time. The same options give the same bytes. `progress` is called with the number of nodes done and the
/// total, by one thread at a time, which need not be the caller's; it may throw to stop. Errors: UsageError,
/// Failure (disk, an existing output), BudgetExceeded.
GraphSimulationResult simulate_graph(const GraphSimulation& options,
                                     const std::function<void(int64_t, int64_t)>& progress,
                                     FileSystem& files = FileSystem::disk());

}  // namespace plimsoll
