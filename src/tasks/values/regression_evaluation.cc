#include "tasks/values/regression_evaluation.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/units.h"
#include "nn/regression.h"
#include "tasks/metrics/undefined_figures.h"

namespace plimsoll {
namespace {

// Returns the targets of the items for which predict() has outputs, in the same order.
Vector<float, Tag::columns> targets_of(const BlockSource& source, std::span<const GraphShape> shapes,
                                       const GraphList& graphs) {
  const ItemRows rows = source.widths().targets;
  Vector<float, Tag::columns> targets;
  int64_t items = 0;
  for (const int64_t g : graphs) items += rows.of_nodes ? shapes[static_cast<size_t>(g)].labelled_nodes : 1;
  targets.reserve(static_cast<size_t>(items * rows.width));
  GraphBlock block;
  for (const int64_t g : graphs) {
    source.read(std::span(&g, 1), block);
    for (int64_t row = 0; row < rows.rows(1, block.nodes()); ++row) {
      if (rows.of_nodes && block.node_y[static_cast<size_t>(row)] < 0) continue;
      const auto first = block.targets.begin() + row * rows.width;
      targets.insert(targets.end(), first, first + rows.width);
    }
  }
  return targets;
}

Json errors_json(const TargetErrors& errors) {
  return {
      {"mae", figure_json(errors.mae)}, {"rmse", figure_json(errors.rmse)}, {"r2", figure_json(errors.r2)}};
}

std::string number(const std::optional<double>& figure) {
  return figure ? fmt::format("{:.4g}", *figure) : "-";
}

}  // namespace

std::vector<RegressionResult> evaluate_values(const EvaluationInput& input) {
  const GraphModel& model = *input.model.model;
  const int64_t width = model.classes();
  if (width != input.source.widths().targets.width)
    throw InputError(fmt::format("the data has {} targets, but the model was trained on {}",
                                 input.source.widths().targets.width, width));
  const Regression objective(model);
  std::vector<Vector<float, Tag::columns>> targets;
  std::vector<size_t> outputs;
  for (const NamedGraphList& list : input.lists) {
    targets.push_back(targets_of(input.source, input.shapes, list.graphs));
    outputs.push_back(targets.back().size());
  }
  ListPredictor predictor(input, objective, outputs);
  std::vector<RegressionResult> results;
  for (size_t i = 0; i < input.lists.size(); ++i) {
    const auto [loss, values] = predictor.predict(i);
    results.push_back({input.lists[i].name, std::ssize(input.lists[i].graphs), loss,
                       regression_figures(values, targets[i], width)});
  }
  return results;
}

Json regression_json(const std::vector<RegressionResult>& results, const std::string& model, int64_t seed) {
  Json splits = Json::array();
  for (const RegressionResult& result : results) {
    Json evaluated = errors_json(result.figures.mean);
    evaluated["name"] = model;
    evaluated["seed"] = seed;
    evaluated["loss"] = result.loss;
    evaluated["targets"] = Json::array();
    for (const TargetErrors& errors : result.figures.targets)
      evaluated["targets"].push_back(errors_json(errors));
    splits.push_back({{"name", result.name},
                      {"graphs", result.graphs},
                      {"items", result.figures.items},
                      {"models", Json::array({std::move(evaluated)})}});
  }
  return {{"splits", std::move(splits)}};
}

std::vector<std::string> regression_columns() {
  return {"<split", "graphs", "items", "loss", "MAE", "RMSE", "R2"};
}

std::vector<std::string> regression_row(const RegressionResult& result) {
  const TargetErrors& mean = result.figures.mean;
  return {result.name,
          format_count(result.graphs),
          format_count(result.figures.items),
          fmt::format("{:.4f}", result.loss),
          number(mean.mae),
          number(mean.rmse),
          figure_text(mean.r2)};
}

}  // namespace plimsoll
