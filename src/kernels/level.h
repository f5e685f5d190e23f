#pragma once

#include <string>

namespace plimsoll {

/// The instructions that kernels are compiled for. Results are the same to the bit at one level, not across
/// levels: they add in vectors of different width.
enum class Level { portable, avx2, avx512 };

/// The highest level of this processor, or the one that the environment variable PLIMSOLL_SIMD names
/// (portable | avx2 | avx512). Decided once. Errors: UsageError for an unknown name or a level the processor
/// lacks.
Level kernel_level();

/// The highest level of this processor.
Level best_level();

std::string name_of(Level level);

}  // namespace plimsoll
