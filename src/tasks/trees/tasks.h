#pragma once

#include "run/task.h"

namespace plimsoll {

// Classes of trees, and pretraining on trees without labels.
const Task& tree_classification_task();
const Task& tree_pretraining_task();

}  // namespace plimsoll
