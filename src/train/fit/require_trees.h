#pragma once

#include "sample/block/batches.h"
#include "sample/block/block.h"

namespace plimsoll {

/// Errors: InputError for a graph in which a node has edges to two nodes with lower numbers, its parents;
/// edges may be stored in one direction or both. Reads the graphs one at a time.
void require_trees(const BlockSource& source, const GraphList& graphs);

}  // namespace plimsoll
