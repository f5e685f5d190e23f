#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/json.h"

namespace plimsoll {

/// The number of this build's arithmetic. It is raised by hand whenever the same recipe, data and seed give
/// other bits; bench/hashes.py refuses to write other hashes under the same number.
inline constexpr int64_t kNumerics = 1;

/// A part of what decides how a process rounds.
struct RoundingPart {
  const char* key;    ///< in manifests and checkpoints
  const char* words;  ///< for messages
};
inline constexpr std::array<RoundingPart, 6> kRoundingParts = {{
    {"numerics", "numerics of the build"},
    {"kernels", "level of kernels"},
    {"torch", "version of torch"},
    {"torch_kernels", "level of torch's kernels"},
    {"processor", "maker of the processor"},
    {"mkl_cbwr", "MKL_CBWR"},
}};

/// How this process rounds: a text for each part. Weights are the same to the bit where all parts are;
/// torch's BLAS (MKL) chooses its code by the maker of the processor, or as the environment's MKL_CBWR says.
Json rounding_here();

/// All differences: "level of kernels avx2 (here avx512), ...". A part that one of the two does not have is
/// not compared. Empty: there is no difference.
std::string rounding_difference(const Json& before, const Json& here);

/// "numerics of the build 1, level of kernels avx2, ...".
std::string rounding_in_words(const Json& rounding);

}  // namespace plimsoll
