#pragma once

#include "nn/batch.h"

namespace plimsoll {

/// Checks that batch.teacher is f32 [rows, width]. Errors: Failure if it is not.
void require_teacher(const Batch& batch, int64_t rows, int64_t width);

}  // namespace plimsoll
