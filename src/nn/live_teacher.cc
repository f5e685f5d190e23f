#include "nn/live_teacher.h"

#include <c10/core/GradMode.h>

namespace plimsoll {

void LiveTeacher::prepare(Batch& batch) const {
  const c10::AutoGradMode no_gradients(false);
  batch.teacher = teacher_.forward(batch, {});
  student_.prepare(batch);
}

}  // namespace plimsoll
