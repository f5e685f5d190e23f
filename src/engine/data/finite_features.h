#pragma once

#include "sample/block/block.h"

namespace plimsoll {

/// Returns the greatest magnitude of a block's features. `source` is the source of the block. Errors:
/// InputError that names the first graph of the block, node or edge, and feature whose value or square is not
/// finite, because training does not work with such values.
float require_finite_features(const GraphBlock& block, const BlockSource& source);

/// Returns a text such as ", graph 3 of train/DoS-1" that names the graph within its recording; empty without
/// recordings.
std::string recording_of(int64_t graph, const GraphSetTables& tables);

}  // namespace plimsoll
