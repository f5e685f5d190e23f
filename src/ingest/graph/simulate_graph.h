#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "io/file_system.h"

namespace plimsoll {

/// A graph to generate. docs/giant-graphs.md describes it.
struct GraphSimulation {
  int64_t nodes = 0;                    ///< V, at most 2^32.
  double degree = 20;                   ///< Approximate mean degree.
  int64_t features = 0;                 ///< Features per node, F.
  std::string features_dtype = "auto";  ///< Same as in GraphIngestOptions.
  int64_t classes = 2;                  ///< Number of communities, each of which is a class; at most V.
  uint64_t seed = 1;
  std::filesystem::path out = {};
  int threads = 1;
  bool force = false;  ///< Replace an existing output.
};

struct GraphSimulationResult {
  bool already_there = false;  ///< Whether the output already held this graph, so that nothing was done.
  int64_t nodes = 0;
  int64_t edges = 0;
};

/// Generates a `graph` of any size, with communities and hubs, and with features and labels from which a
/// network can learn. Only a few thousand nodes per thread are in memory. The same options give the same
/// bytes. `progress` gets the number of nodes done and in total. Errors: UsageError, Failure (disk, an
/// existing output), BudgetExceeded.
GraphSimulationResult simulate_graph(const GraphSimulation& options,
                                     const std::function<void(int64_t, int64_t)>& progress,
                                     FileSystem& files = FileSystem::disk());

}  // namespace plimsoll
