#include "tasks/gnn/untrained_evaluation.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "engine/model_file/rehearsed_model.h"
#include "io/new_folder.h"

namespace plimsoll {
namespace {

// Returns the number of classes that training will find, unless only nodes of the test split have the highest
// label.
int64_t classes_of(const GraphView& graph) {
  int64_t highest = 0;
  if (graph.y().empty()) return 1;
  for (size_t split = 0; split < kGraphSplits.size(); ++split)
    for (const int64_t node : graph.split(split))
      if (node >= 0 && node < graph.nodes())
        highest = std::max(highest, graph.y()[static_cast<size_t>(node)]);
  return highest + 1;
}

}  // namespace

bool rehearse_untrained(const RunRequest& request, const GnnTask& task, Rehearsal& rehearsal,
                        const EvaluateGiantGraph& evaluate) {
  if (kind_of(request.data) != kGraphKind) return false;
  const TrainingData data(request.data, request.recipe, {.seeds = false, .labels = task.labels()});
  const NeighbourSource& giant = *data.neighbours();
  int64_t outputs = request.recipe.gnn.hidden;  // Channels of an embedding, for pairs.
  if (task.head != GnnHead::pairs)
    outputs = task.labels() == NodeLabels::classes ? classes_of(giant.graph()) : giant.graph().target_width();
  GnnModel model;
  model.model = make_rehearsed_model(request.recipe, model_inputs(request.recipe, giant, task.head, outputs));
  // The files of a rehearsal are sparse and use no disk space.
  std::error_code none;
  std::filesystem::path place = request.scratch.temporary;
  if (place.empty()) place = std::filesystem::temp_directory_path(none);
  if (::access(place.c_str(), W_OK) != 0) return false;
  const NewFolder scratch(place / "plimsoll-rehearsal", /*replace=*/false);
  evaluate(
      model, giant,
      {.scratch = scratch.path(), .memory = request.memory, .rehearsal = &rehearsal, .ranks = request.ranks});
  return true;
}

}  // namespace plimsoll
