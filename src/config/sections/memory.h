#pragma once

#include "base/words.h"
#include "config/checks.h"

namespace plimsoll {

/// How a plan determines the memory of blocks: `from_shapes` (in recipes `static`) from shapes alone;
/// `measured` by running a few small synthetic blocks and the largest block; `trial` by also predicting the
/// largest block and running a whole step.
enum class Estimation : uint8_t { from_shapes, measured, trial };
template <>
inline constexpr auto kWords<Estimation> = std::to_array<std::string_view>({"static", "measured", "trial"});

struct MemorySection {
  Estimation estimation = Estimation::measured;
};

template <EitherOf<MemorySection> Section, typename Visit>
void visit_keys(Section& memory, Visit&& visit) {
  visit("estimation", memory.estimation, Choice<Estimation>{});
}

}  // namespace plimsoll
