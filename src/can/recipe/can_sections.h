#pragma once

#include "can/recipe/distillation.h"
#include "can/recipe/windows.h"
#include "config/recipe.h"
#include "config/sections/curriculum.h"
#include "config/sections/gat.h"
#include "config/sections/vgae.h"

namespace plimsoll {

/// The sections of a recipe for detectors: windows of frames, models, and distillation.
struct CanSections {
  WindowSection windows;           ///< Keys of `data`.
  CalibrationSection calibration;  ///< A key of `data`.
  GatOptions gat;
  VgaeOptions vgae;
  TeacherSection teacher;
  CurriculumSection curriculum;
  DistillationSection distillation;
};

/// Adds these sections, the detector tasks and KD-GAT's names to the schema of recipes. A program calls this
/// function once at its start, before it reads a recipe.
void register_can_recipe();

/// Returns the sections of a recipe. Throws Failure if register_can_recipe() was not called.
CanSections& can_sections(Recipe& recipe);
const CanSections& can_sections(const Recipe& recipe);

}  // namespace plimsoll
