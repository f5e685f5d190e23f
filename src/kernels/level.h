#pragma once

#include <string>

namespace plimsoll {

/// Instruction sets for which kernels are compiled. One level always gives the same bits. The bits of two
/// levels differ, because levels add in vectors of different widths.
enum class Level { portable, avx2, avx512 };

/// Returns the highest level of this processor, or the level in the environment variable PLIMSOLL_SIMD
/// (portable | avx2 | avx512). The level is determined once. Errors: UsageError for an unknown name or a
/// level that the processor lacks.
Level kernel_level();

/// Returns the highest level of this processor.
Level best_level();

std::string name_of(Level level);

}  // namespace plimsoll
