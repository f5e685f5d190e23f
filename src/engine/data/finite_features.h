#pragma once

#include "sample/block/block.h"

namespace plimsoll {

/// Returns the greatest magnitude of a block's features. `source` is where the block was read from. Errors:
/// InputError that names the first graph of the block, node or edge, and feature whose value or its square is
/// not finite: training with such values does not work.
float require_finite_features(const GraphBlock& block, const BlockSource& source);

/// Text such as ", graph 3 of train/DoS-1" that names the graph within its recording; empty without
/// recordings.
std::string recording_of(int64_t graph, const GraphSetTables& tables);

}  // namespace plimsoll
