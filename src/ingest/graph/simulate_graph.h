#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "io/file_system.h"

namespace plimsoll {

/// A graph to make up. docs/giant-graphs.md says how it looks.
struct GraphSimulation {
  int64_t nodes = 0;                    ///< V, up to 2^32
  double degree = 20;                   ///< neighbours of a node, on average and about
  int64_t features = 0;                 ///< F
  std::string features_dtype = "auto";  ///< as in GraphIngestOptions
  int64_t classes = 2;                  ///< communities, each a class; at most V
  uint64_t seed = 1;
  std::filesystem::path out = {};
  int threads = 1;
  bool force = false;  ///< replace an existing output
};

struct GraphSimulationResult {
  bool already_there = false;  ///< the output held just this graph: nothing was done
  int64_t nodes = 0;
  int64_t edges = 0;
};

/// Makes a `graph` of communities and hubs, with features and labels from which a network can learn, of any
/// size: nothing is kept but a few thousand nodes a thread. The same options give the same bytes. `progress`
/// gets the nodes done and in all. Errors: UsageError, Failure (disk, an output in the way), BudgetExceeded.
GraphSimulationResult simulate_graph(const GraphSimulation& options,
                                     const std::function<void(int64_t, int64_t)>& progress,
                                     FileSystem& files = FileSystem::disk());

}  // namespace plimsoll
