#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "config/recipe.h"
#include "engine/blocks/exchange.h"

namespace plimsoll {

/// What has to be the same on all ranks of a run, by what it is: a word, or a text whose lines are compared.
using Facts = std::vector<std::pair<std::string, std::string>>;

/// Adds how this process rounds.
void add_rounding(Facts& facts);

/// Compares the facts of this rank with those of rank 0; nothing where there are no others. Errors:
/// UsageError on every rank, which names the first difference.
void require_agreement(Exchange* exchange, const Facts& facts);

/// The facts of what judges a run or predicts with it. `folder` holds the data set.
Facts facts_of_use(const Recipe& recipe, const std::filesystem::path& folder);

/// Errors: UsageError where there are other ranks, for the layers of one giant graph, which are made by one
/// process.
void require_one_process(const Exchange* exchange);

}  // namespace plimsoll
