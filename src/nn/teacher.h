#pragma once

#include "nn/batch.h"

namespace plimsoll {

/// Errors: Failure unless batch.teacher is f32 [rows, width].
void require_teacher(const Batch& batch, int64_t rows, int64_t width);

}  // namespace plimsoll
