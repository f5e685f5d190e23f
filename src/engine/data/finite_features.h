#pragma once

#include "sample/block/block.h"

namespace plimsoll {

/// The greatest magnitude of a block's features. Errors: InputError that names the first graph of the block,
/// node or edge, and feature whose value is not finite, or has no finite square: of such none trains.
/// `source` is where the block was read from.
float require_finite_features(const GraphBlock& block, const BlockSource& source);

/// ", graph 3 of train/DoS-1": which graph of which recording it is; empty where there are no recordings.
std::string recording_of(int64_t graph, const GraphSetTables& tables);

}  // namespace plimsoll
