#include "nn/teacher.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"

namespace plimsoll {

void require_teacher(const Batch& batch, int64_t rows, int64_t width) {
  if (!batch.teacher.defined())
    throw Failure("distillation: the block has no teacher outputs; compute them first");
  if (batch.teacher.scalar_type() != at::kFloat || batch.teacher.sizes() != at::IntArrayRef{rows, width})
    throw Failure(fmt::format(
        "distillation: the teacher's outputs have dtype {} and shape [{}], expected dtype Float and "
        "shape [{}, {}]; check that the teacher was trained with the same sizes",
        c10::toString(batch.teacher.scalar_type()), fmt::join(batch.teacher.sizes(), ", "), rows, width));
}

}  // namespace plimsoll
