#include "tasks/gnn/gnn_predictions.h"

#include <fmt/format.h>

#include "base/error.h"
#include "engine/predict/full_neighbours.h"
#include "io/new_folder.h"
#include "nn/predictions.h"
#include "run/agreement.h"
#include "run/block_predictions.h"
#include "tasks/gnn/layers_folder.h"

namespace plimsoll {
namespace {

std::span<const float> numbers_of(const at::Tensor& tensor) {
  return {tensor.const_data_ptr<float>(), static_cast<size_t>(tensor.numel())};
}

// Returns the name of a node in the source. If IDs are texts, the ID is an index into the table of names.
std::string name_of(const GraphView& graph, int64_t node, const PredictionRequest& request) {
  const int64_t id = graph.id(node);
  if (!graph.has_names()) return std::to_string(id);
  if (id < 0 || id >= graph.nodes())
    throw InputError(fmt::format("{}: node {} has the name {} of {}; run `plimsoll verify`",
                                 request.data.string(), node, id, graph.nodes()));
  return std::string(graph.name(id));
}

}  // namespace

int64_t predict_with_gnn(const PredictionRequest& request, const GnnTask& task) {
  const TrainedGnn gnn(request.folder, request.recipe, request.data, task);
  const GraphModel& model = *gnn.model.model;
  const bool pairs = task.head == GnnHead::pairs;
  // The output for a node of a model of pairs is its embedding.
  const PredictionWriter::Widths widths{.kind = pairs ? PredictionWriter::Kind::embeddings_alone
                                                : model.gives_values() ? PredictionWriter::Kind::values
                                                                       : PredictionWriter::Kind::classes,
                                        .outputs = pairs ? 0 : model.classes(),
                                        .embedding = pairs                ? model.classes()
                                                     : request.embeddings ? model.embedding()
                                                                          : 0};
  const NeighbourSource* const giant = gnn.data.neighbours();
  PredictionWriter::Name name;
  if (giant != nullptr) name = [&](int64_t node) { return name_of(giant->graph(), node, request); };
  PredictionWriter writer(request, widths, std::move(name));
  if (giant == nullptr) {
    predict_blocks(gnn.data.source(), Predictions(model, request.embeddings), request, writer);
    if (request.rehearsal != nullptr) return 0;
    return writer.publish(model.predicts_nodes() ? "nodes" : gnn.data.unit(), gnn.data.identity());
  }
  require_one_process(request.exchange);
  const int64_t bytes = layer_bytes(gnn.model.gnn(), giant->graph().nodes());
  const NewFolder scratch(layers_folder(request.folder, bytes), /*replace=*/false);
  predict_every_node(giant->graph(), giant->topology(), gnn.model.gnn(),
                     {.scratch = scratch.path(),
                      .memory = request.memory,
                      .rehearsal = request.rehearsal,
                      .progress = request.progress},
                     [&](const NodePredictions& predictions) {
                       if (pairs)
                         writer.append({}, numbers_of(predictions.logits));
                       else
                         writer.append(numbers_of(predictions.logits), numbers_of(predictions.embeddings));
                     });
  if (request.rehearsal != nullptr) return 0;
  return writer.publish("nodes", gnn.data.identity());
}

}  // namespace plimsoll
