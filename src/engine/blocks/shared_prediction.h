#pragma once

#include <span>
#include <vector>

#include "engine/blocks/block_engine.h"
#include "engine/blocks/exchange.h"

namespace plimsoll {

/// BlockEngine::predict() by all ranks of a run, which make the same call: in rounds, each works on a few
/// blocks and sends what they say to all others. So `take` gets all outputs on every rank, in the order of
/// the graphs, and the mean loss is that of one process, to the bit. `exchange` is null where there is one
/// process; `engine` has none itself. Errors: as predict(), and those of `take`; what ends one rank ends all,
/// as Interrupted or Failure; RankLost.
double predict_on_ranks(BlockEngine& engine, Exchange* exchange, std::span<const int64_t> graphs,
                        const BlockEngine::Take& take);
/// The same into `outputs`, which has room for all.
double predict_on_ranks(BlockEngine& engine, Exchange* exchange, std::span<const int64_t> graphs,
                        std::span<float> outputs);

/// Bytes that it holds beside the engine, of any of these lists (Tag::columns).
int64_t bytes_to_predict_on_ranks(const Objective& objective, std::span<const GraphShape> shapes,
                                  const BlockLimits& limits,
                                  const std::vector<std::span<const int64_t>>& lists, int ranks);

}  // namespace plimsoll
