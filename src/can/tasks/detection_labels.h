#pragma once

#include <span>

#include "engine/data/split.h"
#include "sample/block/batches.h"
#include "sample/block/block.h"

namespace plimsoll {

/// Returns how many of these graphs hold an attack. In all functions of this header, `shapes` has one entry
/// for each graph of the source.
int64_t count_attacks(std::span<const int64_t> graphs, std::span<const GraphShape> shapes);

/// The graphs without attacks.
GraphList benign_of(std::span<const int64_t> graphs, std::span<const GraphShape> shapes);

/// Throws InputError unless at least one of these validation graphs is benign.
void require_benign(std::span<const int64_t> validation, std::span<const GraphShape> shapes);

/// Checks that a classifier of attacks can be trained and its thresholds set. Errors: InputError unless all
/// labels are 0 or 1, the training graphs are of both kinds, and a validation graph is benign.
void require_both_kinds(const TrainingSplit& split, std::span<const GraphShape> shapes);

}  // namespace plimsoll
