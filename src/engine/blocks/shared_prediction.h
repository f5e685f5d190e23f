#pragma once

#include <span>
#include <vector>

#include "engine/blocks/block_engine.h"
#include "engine/blocks/exchange.h"

namespace plimsoll {

/// Runs BlockEngine::predict() on all ranks of a run, which must all call it. In each round a rank works on a
/// few blocks and sends their outputs to all other ranks, so that `take` gets all outputs on every rank, in
/// the order of the graphs. The outputs are valid only during the call of `take`. The mean loss has the same
/// bits as with one process. `exchange` is null in a run of one process; `engine` itself must have no
/// Exchange. Errors: those of predict() and `take`; an error on one rank ends all ranks, with Interrupted or
/// Failure; RankLost.
double predict_on_ranks(BlockEngine& engine, Exchange* exchange, std::span<const int64_t> graphs,
                        const BlockEngine::Take& take);
/// Predicts into `outputs`, which must have space for all items.
double predict_on_ranks(BlockEngine& engine, Exchange* exchange, std::span<const int64_t> graphs,
                        std::span<float> outputs);

/// Returns the maximum bytes (Tag::columns) that predict_on_ranks() holds in addition to the engine, over
/// these lists; 0 for one rank.
int64_t bytes_to_predict_on_ranks(const Objective& objective, const GraphShapes& shapes,
                                  const BlockLimits& limits,
                                  const std::vector<std::span<const int64_t>>& lists, int ranks);

}  // namespace plimsoll
