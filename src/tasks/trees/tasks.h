#pragma once

#include "run/task.h"

namespace plimsoll {

// Predicts classes of trees, after pretraining on trees without labels.
const Task& tree_classification_task();
const Task& tree_pretraining_task();

}  // namespace plimsoll
