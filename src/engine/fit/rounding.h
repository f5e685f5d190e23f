#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/json.h"

namespace plimsoll {

/// The version number of this build's arithmetic. Raise it by hand whenever the same recipe, data and seed
/// give other bits; bench/hashes.py refuses to write different hashes under the same number.
inline constexpr int64_t kNumerics = 1;

/// One of the properties that decide how a process rounds.
struct RoundingPart {
  const char* key;    ///< Key in manifests and checkpoints.
  const char* words;  ///< Name in messages.
};
inline constexpr std::array<RoundingPart, 6> kRoundingParts = {{
    {"numerics", "numerics of the build"},
    {"kernels", "level of kernels"},
    {"torch", "version of torch"},
    {"torch_kernels", "level of torch's kernels"},
    {"processor", "maker of the processor"},
    {"mkl_cbwr", "MKL_CBWR"},
}};

/// Returns how this process rounds: an object with one text per part. The same recipe, data and seed give the
/// same bits if all parts are equal. The last two parts count because torch's BLAS (MKL) chooses its code by
/// the maker of the processor, or by the environment variable MKL_CBWR.
Json rounding_here();

/// Returns all differences, such as "level of kernels avx2 (here avx512), ..."; empty if there are none. A
/// part that is missing on one side is not compared.
std::string rounding_difference(const Json& before, const Json& here);

/// Returns a text such as "numerics of the build 1, level of kernels avx2, ...".
std::string rounding_in_words(const Json& rounding);

}  // namespace plimsoll
