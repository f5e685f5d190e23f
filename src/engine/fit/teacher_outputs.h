#pragma once

#include "engine/blocks/offloaded_teacher.h"
#include "nn/objective.h"
#include "sample/block/cached_teacher.h"

namespace plimsoll {

/// Where the student of a stage has from what its teacher says (distillation.teacher_outputs): one of these,
/// which must outlive the stage; none where it learns without a teacher.
struct TeacherOutputs {
  const CachedTeacher* column = nullptr;  ///< cached: the source with what was said of all graphs
  const Objective* live = nullptr;        ///< live: asked about each block as the student sees it
  OffloadedTeacher* batches = nullptr;    ///< offload: asked about the blocks of a batch before the student

  bool any() const { return column != nullptr || live != nullptr || batches != nullptr; }
};

}  // namespace plimsoll
