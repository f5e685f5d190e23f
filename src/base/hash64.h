#pragma once

#include <cstdint>
#include <string_view>

namespace plimsoll {

/// Returns XXH3-64 of `bytes`. The hash depends on `seed`.
uint64_t hash64(std::string_view bytes, uint64_t seed);

}  // namespace plimsoll
