#include "task/predict_run.h"

#include "job/stage.h"
#include "task/data_check.h"
#include "task/task.h"

namespace plimsoll {

int64_t predict_run(PredictionRequest request) {
  request.data = nearest_copy(request.data);
  check_data(request.data, request.folder, {});
  request.recipe = load_recipe(request.folder.recipe(), {});
  return find_task(request.recipe.task).predict(request);
}

}  // namespace plimsoll
