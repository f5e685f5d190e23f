#pragma once

#include <cstdint>

#include "base/words.h"
#include "config/checks.h"
#include "config/sections/gat.h"
#include "config/sections/vgae.h"

namespace plimsoll {

/// The teachers of gat and vgae in the task distillation. By default both have the preset `large`.
struct TeacherSection {
  GatOptions gat;
  VgaeOptions vgae;
  TeacherSection();
};

/// The source of the teacher's outputs in a student's stage: a column computed before (cached), the teacher,
/// evaluated in each block (live), or the teacher, evaluated for one batch at a time (offload).
enum class TeacherOutputMode : uint8_t { cached, live, offload };
template <>
inline constexpr auto kWords<TeacherOutputMode> = std::to_array<std::string_view>({"cached", "live",
                                                                                   "offload"});

struct DistillationSection {
  double temperature = 4;
  double alpha = 0.7;
  TeacherOutputMode teacher_outputs = TeacherOutputMode::cached;
};

template <EitherOf<DistillationSection> Section, typename Visit>
void visit_keys(Section& distillation, Visit&& visit) {
  visit("temperature", distillation.temperature, Range{0.01, 1e3});
  visit("alpha", distillation.alpha, Range{0, 1});
  visit("teacher_outputs", distillation.teacher_outputs, Choice<TeacherOutputMode>{});
}

}  // namespace plimsoll
