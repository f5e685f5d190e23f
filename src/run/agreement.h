#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "config/recipe.h"
#include "engine/blocks/exchange.h"

namespace plimsoll {

/// Facts that must be the same on all ranks of a run, by name. Each has a name and a text; an error quotes
/// the first line that differs.
using Facts = std::vector<std::pair<std::string, std::string>>;

/// Adds facts about how this process rounds (engine/fit/rounding.h).
void add_rounding(Facts& facts);

/// Compares the facts of this rank with those of rank 0; does nothing if `exchange` is null. Errors:
/// UsageError on every rank; the message quotes the first difference.
void require_agreement(Exchange* exchange, const Facts& facts);

/// Returns the facts that must be the same on all ranks that evaluate a run or predict with it. `folder`
/// holds the data set.
Facts facts_of_use(const Recipe& recipe, const std::filesystem::path& folder);

}  // namespace plimsoll
