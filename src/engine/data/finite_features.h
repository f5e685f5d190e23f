#pragma once

#include "sample/block/block.h"

namespace plimsoll {

/// Returns the greatest magnitude of the features of a block's nodes and edges, and of the feature rows that
/// `source`, the source of the block, leaves out of blocks. Errors: InputError that names the graph, node or
/// edge, and feature of the block's first value that is not finite, or has a square that is not finite,
/// because training does not work with such values.
float require_finite_features(const GraphBlock& block, const BlockSource& source);

/// Returns a text such as ", graph 3 of train/DoS-1" that names the graph within its recording; empty without
/// recordings.
std::string recording_of(int64_t graph, const GraphSetTables& tables);

}  // namespace plimsoll
