#pragma once

#include "sample/block.h"

namespace plimsoll {

/// Errors: InputError that names the first graph of the block, node or edge, and feature whose value is not
/// finite. `source` is where the block was read from.
void require_finite_features(const GraphBlock& block, const BlockSource& source);

/// ", graph 3 of train/DoS-1": which graph of which recording it is; empty where there are no recordings.
std::string recording_of(int64_t graph, const GraphSetTables& tables);

}  // namespace plimsoll
