#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

/// Returns the entry of `words` that `word` was probably meant to be: the first one with the fewest errors.
/// An extra letter, a missing letter, a wrong letter, and two swapped letters count as one error each.
/// Returns "" if all have more than `max` errors.
std::string nearest_word(std::string_view word, const std::vector<std::string>& words,
                         size_t max = std::string::npos);

}  // namespace plimsoll
