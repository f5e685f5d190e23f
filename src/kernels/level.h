#pragma once

#include <string>

namespace plimsoll {

/// Instruction sets that kernels are compiled for. Results of one level always have the same bits. Levels
/// differ, because they add in vectors of different width.
enum class Level { portable, avx2, avx512 };

/// Returns the highest level of this processor, or the level in the environment variable PLIMSOLL_SIMD
/// (portable | avx2 | avx512). It is determined once. Errors: UsageError for an unknown name or a level that
/// the processor lacks.
Level kernel_level();

/// Returns the highest level of this processor.
Level best_level();

std::string name_of(Level level);

}  // namespace plimsoll
