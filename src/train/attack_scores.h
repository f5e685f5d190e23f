#pragma once

#include <span>

#include "memory/vector.h"
#include "train/block_engine.h"

namespace plimsoll {

/// For each graph the log-odds of class 1 against class 0, from an engine whose objective says two numbers of
/// a graph.
Vector<float, Tag::columns> attack_scores(BlockEngine& engine, std::span<const int64_t> graphs);

}  // namespace plimsoll
