#include "task/predict_run.h"

#include "task/task.h"

namespace plimsoll {

int64_t predict_run(PredictionRequest request) {
  request.recipe = load_recipe(request.folder.recipe(), {});
  return find_task(request.recipe.task).predict(request);
}

}  // namespace plimsoll
