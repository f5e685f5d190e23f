#pragma once

#include "engine/blocks/offloaded_teacher.h"
#include "nn/objective.h"
#include "sample/block/cached_teacher.h"

namespace plimsoll {

/// The source of a teacher's outputs for the student of a stage (distillation.teacher_outputs). At most one
/// member is set; its object must outlive the stage. None is set if the stage has no teacher.
struct TeacherOutputs {
  const CachedTeacher* column = nullptr;  ///< cached: the source with the outputs for all graphs.
  const Objective* live = nullptr;        ///< live: predicts each block as the student sees it.
  /// offload: predicts the blocks of a batch before the student sees them.
  OffloadedTeacher* batches = nullptr;

  bool any() const { return column != nullptr || live != nullptr || batches != nullptr; }
};

}  // namespace plimsoll
