#include "cli/known_tasks.h"

#include "run/task.h"
#include "tasks/classes/tasks.h"
#include "tasks/labels/tasks.h"
#include "tasks/links/tasks.h"
#include "tasks/trees/tasks.h"
#include "tasks/values/tasks.h"
#ifdef PLIMSOLL_CAN
#include "can/tasks/tasks.h"
#include "can/tasks/window_data.h"
#endif

namespace plimsoll {

void register_known_tasks() {
  static constexpr NamedTask kTasks[] = {
      {TaskName::graph_classification, graph_classification_task},
      {TaskName::graph_regression, graph_regression_task},
      {TaskName::link_prediction, link_prediction_task},
      {TaskName::node_classification, node_classification_task},
      {TaskName::node_multilabel_classification, node_multilabel_classification_task},
      {TaskName::node_regression, node_regression_task},
      {TaskName::tree_classification, tree_classification_task},
      {TaskName::tree_pretraining, tree_pretraining_task},
#ifdef PLIMSOLL_CAN
      {TaskName::autoencoder, autoencoder_task},
      {TaskName::detection, detection_task},
      {TaskName::distillation, distillation_task},
#endif
  };
  register_tasks(kTasks);
#ifdef PLIMSOLL_CAN
  register_opener("frames", open_window_data);
#endif
}

}  // namespace plimsoll
