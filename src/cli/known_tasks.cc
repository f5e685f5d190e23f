#include "cli/known_tasks.h"

#include "run/task.h"
#include "tasks/classes/tasks.h"
#include "tasks/labels/tasks.h"
#include "tasks/links/tasks.h"
#include "tasks/relational/tasks.h"
#include "tasks/trees/tasks.h"
#include "tasks/values/tasks.h"
#ifdef PLIMSOLL_CAN
#include "can/recipe/can_sections.h"
#include "can/tasks/tasks.h"
#include "can/tasks/window_data.h"
#include "can/tasks/window_overlap.h"
#endif

namespace plimsoll {

void register_known_tasks() {
#ifdef PLIMSOLL_CAN
  register_can_recipe();
#endif
  static constexpr NamedTask kTasks[] = {
      {"graph_classification", graph_classification_task},
      {"graph_regression", graph_regression_task},
      {"link_prediction", link_prediction_task},
      {"node_classification", node_classification_task},
      {"node_multilabel_classification", node_multilabel_classification_task},
      {"node_regression", node_regression_task},
      {"relational", relational_task},
      {"tree_classification", tree_classification_task},
      {"tree_pretraining", tree_pretraining_task},
#ifdef PLIMSOLL_CAN
      {"autoencoder", autoencoder_task},
      {"detection", detection_task},
      {"distillation", distillation_task},
#endif
  };
  register_tasks(kTasks);
#ifdef PLIMSOLL_CAN
  register_opener("frames", open_window_data);
  register_overlap(overlap_of_windows);
#endif
}

}  // namespace plimsoll
