#pragma once

#include "run/task.h"

namespace plimsoll {

// Predicts several labels of each node of one giant graph.
const Task& node_multilabel_classification_task();

}  // namespace plimsoll
