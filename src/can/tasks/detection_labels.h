#pragma once

#include <span>

#include "engine/data/split.h"
#include "sample/block/batches.h"
#include "sample/block/block.h"

namespace plimsoll {

/// How many of these graphs hold an attack. `shapes`, here and below, has one for each graph of the source.
int64_t count_attacks(std::span<const int64_t> graphs, std::span<const GraphShape> shapes);

/// Those that hold none.
GraphList benign_of(std::span<const int64_t> graphs, std::span<const GraphShape> shapes);

/// Errors: InputError unless one of these validation graphs is benign.
void require_benign(std::span<const int64_t> validation, std::span<const GraphShape> shapes);

/// What a classifier of attacks needs to train and to have thresholds. Errors: InputError unless all labels
/// are 0 or 1, the training graphs are of both kinds, and one of validation is benign.
void require_both_kinds(const TrainingSplit& split, std::span<const GraphShape> shapes);

}  // namespace plimsoll
