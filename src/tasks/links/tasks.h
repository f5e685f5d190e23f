#pragma once

#include "run/task.h"

namespace plimsoll {

// Edges of one giant graph that are to be predicted.
const Task& link_prediction_task();

}  // namespace plimsoll
