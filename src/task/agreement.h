#pragma once

#include <string>
#include <utility>
#include <vector>

#include "train/engine/exchange.h"

namespace plimsoll {

/// What has to be the same on all ranks of a run, by what it is: a word, or a text whose lines are compared.
using Facts = std::vector<std::pair<std::string, std::string>>;

/// Compares the facts of this rank with those of rank 0; nothing where there are no others. Errors:
/// UsageError on every rank, which names the first difference.
void require_agreement(Exchange* exchange, const Facts& facts);

}  // namespace plimsoll
