#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

/// The one of `words` that `word` was perhaps to be: a letter too many, left out, another one, or two that
/// changed places count as one error each, and it has the fewest; of several it is the first. "" where all
/// have more than `most`.
std::string nearest_word(std::string_view word, const std::vector<std::string>& words,
                         size_t max = std::string::npos);

}  // namespace plimsoll
