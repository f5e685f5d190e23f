#pragma once

#include <cstdint>
#include <string_view>

namespace plimsoll {

/// XXH3-64 of some bytes; another seed gives another hash.
uint64_t hash64(std::string_view bytes, uint64_t seed);

}  // namespace plimsoll
