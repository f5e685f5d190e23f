#pragma once

#include "run/task.h"

namespace plimsoll {

// Predicts edges of one giant graph.
const Task& link_prediction_task();

}  // namespace plimsoll
