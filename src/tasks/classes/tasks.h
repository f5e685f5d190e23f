#pragma once

#include "run/task.h"

namespace plimsoll {

// Predicts classes of graphs, or of the nodes of one giant graph.
const Task& graph_classification_task();
const Task& node_classification_task();

}  // namespace plimsoll
