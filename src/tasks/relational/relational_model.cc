#include "tasks/relational/relational_model.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "base/number_text.h"
#include "engine/model_file/tensor_file.h"
#include "nn/classification.h"
#include "nn/hetero.h"
#include "nn/multi_label.h"
#include "nn/recommendation.h"
#include "nn/regression.h"
#include "store/safetensors.h"

namespace plimsoll {
namespace {

constexpr const char* kModel = "plimsoll.model";
constexpr const char* kModelWord = "relational";
constexpr const char* kClasses = "plimsoll.classes";
constexpr const char* kClassNames = "plimsoll.class_names";
constexpr const char* kTrainedOn = "plimsoll.trained_on";

HeteroOptions options_of(const Recipe& recipe, const TypedSource& source, int64_t classes) {
  const SampleLayout& layout = source.layout();
  const TypedGraphView& graph = source.graph();
  HeteroOptions options;
  for (const SampleLayout::Nodes& type : layout.nodes)
    options.nodes.push_back({graph.node_types()[type.type].name, type.numbers, type.vocabularies,
                             static_cast<int64_t>(type.first_hop)});
  for (const SampleLayout::Edges& type : layout.edges) {
    const EdgeTypeView& view = graph.edge_types()[type.type];
    options.edges.push_back({fmt::format("{}___{}___{}", view.source, view.name, view.target),
                             static_cast<int64_t>(type.source), static_cast<int64_t>(type.target),
                             static_cast<int64_t>(type.first_hop)});
  }
  options.seeds = static_cast<int64_t>(layout.seeds);
  options.layers = static_cast<int64_t>(layout.hops);
  options.channels = recipe.relational.channels;
  options.layer = recipe.relational.layer;
  options.bases = recipe.relational.bases;
  options.heads = recipe.relational.heads;
  options.dropout = recipe.relational.dropout;
  options.mean = recipe.relational.aggregation == NeighbourAggregation::mean;
  options.mean_of_types = recipe.relational.combine == EdgeTypeCombination::mean;
  options.values = source.seeds().kind() == SeedTask::regression;
  options.outputs = source.seeds().target_width() > 0 ? source.seeds().target_width() : classes;
  options.destinations = layout.destinations;
  return options;
}

}  // namespace

std::unique_ptr<GraphModel> make_relational_model(const Recipe& recipe, const TypedSource& source,
                                                  int64_t classes) {
  return std::make_unique<Hetero>(options_of(recipe, source, classes), static_cast<uint64_t>(recipe.seed));
}

std::unique_ptr<Objective> make_relational_objective(const Recipe& recipe, const GraphModel& model,
                                                     const TaskSeeds& seeds) {
  if (seeds.kind() == SeedTask::recommendation)
    return std::make_unique<Recommendation>(model, seeds.list_length());
  if (seeds.kind() == SeedTask::multilabel_classification) return std::make_unique<MultiLabel>(model);
  if (model.gives_values()) return std::make_unique<Regression>(model, recipe.relational.loss);
  return std::make_unique<Classification>(model);
}

// Uses Welford's method (Technometrics 1962), in the order of the seeds.
void learn_target_units(const TypedSource& source, std::span<const int64_t> seeds, const GraphModel& model) {
  if (!model.gives_values()) return;
  double mean = 0, squares = 0;
  int64_t count = 0;
  for (const int64_t seed : seeds) {
    const double value = source.seeds().value(seed);
    if (std::isnan(value)) continue;
    const double difference = value - mean;
    mean += difference / static_cast<double>(++count);
    squares += difference * (value - mean);
  }
  const double deviation = count > 0 ? std::sqrt(squares / static_cast<double>(count)) : 0;
  const TargetUnits units = model.target_units();
  units.mean.fill_(mean);
  units.scale.fill_(deviation > 0 ? deviation : 1);
}

void save_relational(const std::filesystem::path& file, const GraphModel& model, const TaskSeeds& seeds,
                     const std::string& data) {
  TensorMetadata metadata = {
      {kModel, kModelWord}, {kClasses, std::to_string(model.classes())}, {kTrainedOn, data}};
  if (!seeds.class_names().empty()) metadata[kClassNames] = Json(seeds.class_names()).dump();
  write_safetensors(file, tensors_of(model.parameters()), metadata);
}

std::unique_ptr<GraphModel> load_relational(const std::filesystem::path& path, const Recipe& recipe,
                                            const TypedSource& source, const std::string& data) {
  const SafetensorsView file(path);
  if (file.meta(kTrainedOn) != data)
    throw InputError(fmt::format(
        "{}: the model was trained on another data set than {}; pass that data set, because the model "
        "needs its vocabularies and statistics",
        path.string(), source.graph().set().folder().string()));
  const std::optional<int64_t> classes = parse_number<int64_t>(file.meta(kClasses));
  if (!classes || *classes < 1)
    throw InputError(
        fmt::format("{}: found {} classes, expected 1 or more", path.string(), file.meta(kClasses)));
  std::unique_ptr<GraphModel> model = make_relational_model(recipe, source, *classes);
  read_tensors(file, path.string(), model->parameters());
  return model;
}

}  // namespace plimsoll
