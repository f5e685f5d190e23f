#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "config/recipe.h"
#include "engine/blocks/exchange.h"

namespace plimsoll {

/// Facts that must be the same on all ranks of a run: pairs of a name and a text. An error quotes the first
/// line of the text that differs.
using Facts = std::vector<std::pair<std::string, std::string>>;

/// Adds facts about how this process rounds (engine/fit/rounding.h).
void add_rounding(Facts& facts);

/// Compares the facts of all ranks with those of rank 0. All ranks must call it, with facts of the same
/// names. Does nothing if `exchange` is null. Errors: UsageError on every rank, which quotes the first
/// difference; those of gather_texts().
void require_agreement(Exchange* exchange, const Facts& facts);

/// Returns the facts that must be the same on all ranks that evaluate a run or predict with it. `folder`
/// holds the data set. Errors: those of read_manifest().
Facts facts_of_use(const Recipe& recipe, const std::filesystem::path& folder);

}  // namespace plimsoll
