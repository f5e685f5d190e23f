#include "kernels/path_message/path_message.h"

#include "kernels/levels.h"

namespace plimsoll {

PLIMSOLL_DECLARE_LEVELS(path_message_f32, PathKernels<float>)
PLIMSOLL_DECLARE_LEVELS(path_message_f64, PathKernels<double>)

template <>
const PathKernels<float>& path_kernels(Level level) {
  return PLIMSOLL_AT_LEVEL(level, path_message_f32);
}

template <>
const PathKernels<double>& path_kernels(Level level) {
  return PLIMSOLL_AT_LEVEL(level, path_message_f64);
}

}  // namespace plimsoll
