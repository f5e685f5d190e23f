#pragma once

#include "run/task.h"

namespace plimsoll {

// Predicts values of graphs, or of their nodes.
const Task& graph_regression_task();
const Task& node_regression_task();

}  // namespace plimsoll
