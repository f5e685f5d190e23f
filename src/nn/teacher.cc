#include "nn/teacher.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"

namespace plimsoll {

void require_teacher(const Batch& batch, int64_t rows, int64_t width) {
  if (!batch.teacher.defined())
    throw Failure("distillation: the block has no teacher's outputs; compute them first");
  if (batch.teacher.scalar_type() != at::kFloat || batch.teacher.sizes() != at::IntArrayRef{rows, width})
    throw Failure(fmt::format(
        "distillation: the teacher's outputs are {} of shape [{}], expected Float of "
        "shape [{}, {}]; was the teacher trained with other sizes?",
        c10::toString(batch.teacher.scalar_type()), fmt::join(batch.teacher.sizes(), ", "), rows, width));
}

}  // namespace plimsoll
