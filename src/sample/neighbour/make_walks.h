#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "io/file_system.h"
#include "sample/neighbour/random_walks.h"

namespace plimsoll {

/// The walks to write, and their destination.
struct MakeWalksOptions {
  std::filesystem::path graph;  ///< Folder of a `graph` data set.
  std::filesystem::path out;
  WalkOptions walks{.length = 80, .walks_per_node = 10};
  uint64_t seed = 42;
  int threads = 1;
  bool force = false;  ///< Replace an existing output.
};

/// Progress callback: `done` of `total` walks have been made. It may throw to stop.
using WalksDone = std::function<void(int64_t done, int64_t total)>;

struct MadeWalks {
  bool already_there = false;  ///< The output already contained these walks, so nothing was done.
  bool in_memory = false;      ///< The whole topology was in memory.
  int64_t walks = 0;
};

/// Writes walks from each node to a data set of kind `walks` (docs/giant-graphs.md): the column `walks`,
/// [nodes x walks_per_node, length + 1], u32, or i64 for more than 2^32 nodes. The topology is held in memory
/// if it fits into three quarters of the memory that the ledger has left. Otherwise it is read from disk, in
/// rounds of many walks (walk_rounds.h) or, if there is no space for these, through a cache. The bytes do not
/// depend on threads or budget. Errors: UsageError (options), InputError (the graph), BudgetExceeded,
/// ThreadRefused, Interrupted, Failure (disk; an output that contains something else); those of `progress`.
MadeWalks make_walks(const MakeWalksOptions& options, const WalksDone& progress,
                     FileSystem& files = FileSystem::disk());

}  // namespace plimsoll
