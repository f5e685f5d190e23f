#include "tasks/gnn/gnn_predictions.h"

#include <fmt/format.h>

#include "base/error.h"
#include "engine/predict/full_neighbours.h"
#include "io/new_folder.h"
#include "nn/predictions.h"
#include "run/block_predictions.h"
#include "tasks/gnn/layers_folder.h"
#include "tasks/gnn/node_list.h"

namespace plimsoll {
namespace {

std::span<const float> numbers_of(const at::Tensor& tensor) {
  if (!tensor.defined()) return {};
  return {tensor.const_data_ptr<float>(), static_cast<size_t>(tensor.numel())};
}

// Returns the kind of a model's outputs. A model of pairs returns the embedding of each node.
PredictionWriter::Kind kind_of_outputs(const GnnTask& task, const GraphModel& model) {
  if (task.head == GnnHead::pairs) return PredictionWriter::Kind::embeddings_alone;
  if (task.head == GnnHead::labels) return PredictionWriter::Kind::labels;
  return model.gives_values() ? PredictionWriter::Kind::values : PredictionWriter::Kind::classes;
}

// The node of each row: those listed in a file, if one is given, otherwise all nodes.
struct PredictedNodes {
  PredictedNodes(const PredictionRequest& request, const NeighbourSource* giant) : graph(giant) {
    if (giant != nullptr && !request.nodes.empty()) some = read_node_list(request.nodes, giant->graph());
  }
  PredictionWriter::Name names() const {
    if (graph == nullptr) return nullptr;
    return [this](int64_t row) {
      return name_of_node(graph->graph(), some.empty() ? row : some[static_cast<size_t>(row)]);
    };
  }
  void predict(const Gnn& model, const FullNeighbourOptions& options,
               const std::function<void(const NodePredictions&)>& take) const {
    if (some.empty())
      predict_every_node(graph->graph(), graph->topology(), model, options, take);
    else
      predict_nodes(graph->graph(), graph->topology(), model, some, options, take);
  }

  const NeighbourSource* graph;  // Null for small graphs.
  Vector<int64_t, Tag::columns> some;
};

}  // namespace

int64_t predict_with_gnn(const PredictionRequest& request, const GnnTask& task) {
  const TrainedGnn gnn(request.folder, request.recipe, request.data, task);
  const GraphModel& model = *gnn.model.model;
  const bool pairs = task.head == GnnHead::pairs;
  const PredictionWriter::Kind kind = kind_of_outputs(task, model);
  const PredictionWriter::Widths widths{.kind = kind,
                                        .outputs = pairs ? 0 : model.classes(),
                                        .embedding = pairs                ? model.classes()
                                                     : request.embeddings ? model.embedding()
                                                                          : 0,
                                        .class_names = kind == PredictionWriter::Kind::classes
                                                           ? gnn.model.names.classes
                                                           : std::vector<std::string>()};
  const NeighbourSource* const giant = gnn.data.neighbours();
  const PredictedNodes nodes(request, giant);
  PredictionWriter writer(request, widths, nodes.names(), nodes.some);
  if (giant == nullptr) {
    predict_blocks(gnn.data.source(), Predictions(model, request.embeddings), request, writer);
    if (request.rehearsal != nullptr) return 0;
    return writer.publish(model.predicts_nodes() ? "nodes" : gnn.data.unit(), gnn.data.identity());
  }
  const int ranks = ranks_of(request.exchange);
  // The ranks may all have their folders on one disk.
  const int64_t bytes = ranks * layer_bytes(gnn.model.gnn(), giant->graph().nodes());
  const NewFolder scratch(layers_folder(request.folder, bytes), /*replace=*/false);
  nodes.predict(gnn.model.gnn(),
                {.scratch = scratch.path(),
                 .memory = request.memory,
                 .rehearsal = request.rehearsal,
                 .progress = request.progress,
                 .order = gnn.order,
                 .embeddings = request.embeddings && !pairs,
                 .ranks = ranks,
                 .exchange = request.exchange},
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
