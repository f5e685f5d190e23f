#include "task/predict_run.h"

#include "config/earlier_runs.h"
#include "io/replaceable.h"
#include "job/stage.h"
#include "task/agreement.h"
#include "task/data_check.h"
#include "task/task.h"
#include "train/engine/shared_file.h"

namespace plimsoll {

int64_t predict_run(PredictionRequest request) {
  const std::filesystem::path copy = nearest_copy(request.data);
  require_free(request.out, request.force, {request.data, copy, request.folder.root});
  request.data = copy;
  check_data(request.data, request.folder, {});
  request.recipe = load_run_recipe(request.folder.recipe());
  if (request.exchange != nullptr) {
    Facts facts = facts_of_use(request.recipe, request.data);
    facts.emplace_back("--embeddings", request.embeddings ? "given" : "not given");
    require_agreement(request.exchange, facts);
  }
  const int64_t rows = find_task(request.recipe.task).predict(request);
  if (!is_there_for_ranks(request.exchange, request.out / "manifest.json"))
    throw Failure(request.out.string() + ": was written, and is gone");
  return rows;
}

}  // namespace plimsoll
