#pragma once

#include "run/task.h"

namespace plimsoll {

// Tasks that detect attacks on a CAN bus.
const Task& autoencoder_task();
const Task& detection_task();
const Task& distillation_task();

}  // namespace plimsoll
