#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "config/recipe.h"
#include "engine/blocks/exchange.h"

namespace plimsoll {

/// Facts that must be the same on all ranks of a run, by name. A fact is a word, or a text that is compared
/// line by line.
using Facts = std::vector<std::pair<std::string, std::string>>;

/// Adds how this process rounds (engine/fit/rounding.h).
void add_rounding(Facts& facts);

/// Compares the facts of this rank with those of rank 0; does nothing in a run of one process. Errors:
/// UsageError on every rank, which names the first difference.
void require_agreement(Exchange* exchange, const Facts& facts);

/// Returns the facts of a command that evaluates a run or predicts with it. `folder` holds the data set.
Facts facts_of_use(const Recipe& recipe, const std::filesystem::path& folder);

/// Throws UsageError if there are other ranks: one process computes the layers of one giant graph.
void require_one_process(const Exchange* exchange);

}  // namespace plimsoll
