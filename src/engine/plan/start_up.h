#pragma once

#include <string>

#include "base/json.h"
#include "sample/block/block.h"

namespace plimsoll {

/// Returns {blocks, seconds, bytes_read, bytes_written}, for the journal and for summaries.
Json start_up_json(const StartUpCost& cost);
/// Describes the cost in one line.
std::string start_up_in_words(const StartUpCost& cost);

}  // namespace plimsoll
