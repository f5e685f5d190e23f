#pragma once

#include "run/task.h"

namespace plimsoll {

// Predicts the labels of a task's seeds in a graph with node types.
const Task& relational_task();

}  // namespace plimsoll
