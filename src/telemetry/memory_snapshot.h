#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "memory/tape.h"

namespace plimsoll {

/// Returns the events of a tape in the format of torch.cuda.memory._snapshot(), for pytorch.org/memory_viz:
/// one segment, with an allocation for each piece of at least one byte, named by module and operation.
/// `bytes` and `places` have one entry per piece.
Json memory_snapshot(const Tape& tape, const std::vector<int64_t>& bytes, const std::vector<int64_t>& places);

/// Returns a value as a Python pickle, protocol 2. Objects become dictionaries. Errors: UsageError for
/// numbers beyond 64 bits.
std::string pickled(const Json& value);

}  // namespace plimsoll
