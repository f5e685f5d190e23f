#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "memory/tape.h"

namespace plimsoll {

/// The events of a tape as torch.cuda.memory._snapshot() tells those of a GPU, for pytorch.org/memory_viz:
/// one segment, an allocation for each piece of at least a byte, named by module and operation. `bytes` and
/// `places`: of each piece.
Json memory_snapshot(const Tape& tape, const std::vector<int64_t>& bytes, const std::vector<int64_t>& places);

/// The same value as Python's pickle, protocol 2: objects become dictionaries. Errors: UsageError for numbers
/// beyond 64 bits.
std::string pickled(const Json& value);

}  // namespace plimsoll
