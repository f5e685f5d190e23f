#pragma once

#include <cstdint>

#include "base/words.h"
#include "config/checks.h"

namespace plimsoll {

/// How the graphs of an epoch are chosen according to their difficulty (engine/data/curriculum.h).
enum class CurriculumKind : uint8_t { none, kdgat, hard_4to1 };
template <>
inline constexpr auto kWords<CurriculumKind> = std::to_array<std::string_view>({"none", "kdgat",
                                                                                "hard_4to1"});

struct CurriculumSection {
  CurriculumKind schedule = CurriculumKind::kdgat;
};

template <EitherOf<CurriculumSection> Section, typename Visit>
void visit_keys(Section& curriculum, Visit&& visit) {
  visit("schedule", curriculum.schedule, Choice<CurriculumKind>{});
}

}  // namespace plimsoll
