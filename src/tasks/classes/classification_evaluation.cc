#include "tasks/classes/classification_evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "base/units.h"
#include "engine/blocks/item_kind.h"
#include "nn/classification.h"
#include "tasks/classes/class_numbers.h"
#include "tasks/metrics/undefined_figures.h"

namespace plimsoll {
namespace {

// Returns the labels of the items for which predict() has outputs, in the same order.
Vector<int64_t, Tag::columns> labels_of(const BlockSource& source, std::span<const GraphShape> shapes,
                                        const GraphList& graphs, bool node_head) {
  Vector<int64_t, Tag::columns> labels;
  int64_t count = 0;
  for (const int64_t g : graphs)
    count +=
        item_kind(node_head ? Items::labelled_nodes : Items::graphs).count(shapes[static_cast<size_t>(g)]);
  labels.reserve(static_cast<size_t>(count));
  GraphBlock block;
  for (const int64_t g : graphs) {
    if (!node_head) {
      labels.push_back(shapes[static_cast<size_t>(g)].label);
      continue;
    }
    source.read(std::span(&g, 1), block);
    std::ranges::copy_if(block.node_y, std::back_inserter(labels), [](int64_t label) { return label >= 0; });
  }
  return labels;
}

Json rows_of(const std::vector<int64_t>& matrix) {
  Json rows = Json::array();
  const auto side = static_cast<int64_t>(std::lround(std::sqrt(matrix.size())));
  for (int64_t row = 0; row < side; ++row)
    rows.push_back(std::vector<int64_t>(matrix.begin() + row * side, matrix.begin() + (row + 1) * side));
  return rows;
}

}  // namespace

double mean_cross_entropy(std::span<const float> logits, std::span<const int64_t> labels, int64_t classes) {
  double sum = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    const auto row = logits.subspan(i * static_cast<size_t>(classes), static_cast<size_t>(classes));
    const double highest = *std::ranges::max_element(row);
    double exponentials = 0;
    for (const float logit : row) exponentials += std::exp(logit - highest);
    sum += highest + std::log(exponentials) - row[static_cast<size_t>(labels[i])];
  }
  return labels.empty() ? 0 : sum / static_cast<double>(labels.size());
}

std::vector<ClassificationResult> evaluate_classifier(const EvaluationInput& input,
                                                      const HeardLogits& heard) {
  const GraphModel& model = *input.model.model;
  const Classification objective(model);
  const int64_t classes = model.classes();
  std::vector<Vector<int64_t, Tag::columns>> labels;
  std::vector<size_t> outputs;
  for (const NamedGraphList& list : input.lists) {
    labels.push_back(labels_of(input.source, input.shapes, list.graphs, model.predicts_nodes()));
    for (const int64_t label : labels.back())
      if (label < 0 || label >= classes)
        throw InputError(fmt::format("{}: a label is {}, but the model knows classes 0 .. {}", list.name,
                                     label, classes - 1));
    outputs.push_back(labels.back().size() * static_cast<size_t>(classes));
  }
  int64_t longest = 0;
  for (const auto& of_list : labels) longest = std::max(longest, std::ssize(of_list));
  ListPredictor predictor(input, objective, outputs, classification_figures_bytes(longest, classes));
  std::vector<ClassificationResult> results;
  for (size_t i = 0; i < input.lists.size(); ++i) {
    const auto [loss, logits] = predictor.predict(i);
    if (heard) heard(i, logits);
    results.push_back({input.lists[i].name, std::ssize(input.lists[i].graphs), loss,
                       classification_figures(logits, labels[i], classes)});
  }
  return results;
}

std::vector<ClassificationResult> evaluate_nodes(const GraphView& graph, DiskTopology& topology,
                                                 const GnnModel& model,
                                                 const std::vector<std::string>& splits,
                                                 const FullNeighbourOptions& options) {
  struct List {
    std::string name;
    size_t first;
    size_t count;
  };
  std::vector<List> lists;
  Vector<int64_t, Tag::columns> nodes, labels;
  const int64_t classes = model.model->classes();
  if (graph.y().empty())
    throw InputError(graph.set().folder().string() +
                     ": nodes have no labels (column y); pass labels to `plimsoll ingest graph`");
  const ClassNumbers numbers(model.names.classes, graph.tables().class_names, classes);
  for (const std::string& name : splits) {
    const size_t first = nodes.size();
    const auto split = static_cast<size_t>(std::ranges::find(kGraphSplits, name) - kGraphSplits.begin());
    for (const int64_t node : graph.split(split)) {
      if (node < 0 || node >= graph.nodes())
        throw InputError(fmt::format("{}: {}_idx names node {}, expected 0 .. {}; run `plimsoll verify`",
                                     graph.set().folder().string(), name, node, graph.nodes() - 1));
      const int64_t label = graph.y()[static_cast<size_t>(node)];
      if (label < 0) continue;
      nodes.push_back(node);
      labels.push_back(
          numbers.of(label, [&] { return fmt::format("{}: the label of node {}", name, graph.id(node)); }));
    }
    lists.push_back({name, first, nodes.size() - first});
  }
  Vector<float, Tag::columns> logits(nodes.size() * static_cast<size_t>(classes));
  predict_nodes(graph, topology, model.gnn(), nodes, options, logits);
  std::vector<ClassificationResult> results;
  for (const List& list : lists) {
    const std::span<const float> found = std::span(logits).subspan(list.first * static_cast<size_t>(classes),
                                                                   list.count * static_cast<size_t>(classes));
    const std::span<const int64_t> expected = std::span(labels).subspan(list.first, list.count);
    results.push_back({list.name, 1, mean_cross_entropy(found, expected, classes),
                       classification_figures(found, expected, classes)});
  }
  return results;
}

Json classification_json(const std::vector<ClassificationResult>& results, const std::string& model,
                         int64_t seed) {
  Json splits = Json::array();
  for (const ClassificationResult& result : results)
    splits.push_back(
        {{"name", result.name},
         {"graphs", result.graphs},
         {"items", result.figures.items},
         {"models",
          {{{"name", model},
            {"seed", seed},
            {"loss", result.loss},
            {"accuracy", figure_json(result.figures.accuracy)},
            {"f1", figure_json(result.figures.f1)},
            {"auc", figure_json(result.figures.auc)},
            {"confusion", result.figures.confusion.empty() ? Json() : rows_of(result.figures.confusion)}}}}});
  return {{"splits", std::move(splits)}};
}

std::vector<std::string> classification_columns() {
  return {"<split", "graphs", "items", "loss", "accuracy", "F1", "AUC"};
}

std::vector<std::string> classification_row(const ClassificationResult& result) {
  return {result.name,
          format_count(result.graphs),
          format_count(result.figures.items),
          fmt::format("{:.4f}", result.loss),
          figure_text(result.figures.accuracy),
          figure_text(result.figures.f1),
          figure_text(result.figures.auc)};
}

}  // namespace plimsoll
