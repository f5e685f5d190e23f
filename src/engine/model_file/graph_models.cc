#include "engine/model_file/graph_models.h"

#include <fmt/format.h>

#include <optional>

#include "base/error.h"
#include "engine/model_file/model_options.h"
#include "engine/model_file/tensor_file.h"
#include "nn/gnn.h"
#include "nn/sgmp.h"

namespace plimsoll {
namespace {

std::unique_ptr<GraphModel> make_gnn(const Recipe& recipe, const ModelInputs& inputs) {
  GnnOptions gnn = recipe.gnn;
  gnn.in_features = inputs.node_features;
  gnn.edge_features = inputs.edge_features;
  gnn.num_ids = inputs.ids == 0 ? 0 : inputs.ids + 1;
  if (inputs.nodes > 0) gnn.num_ids = inputs.nodes;
  gnn.classes = inputs.outputs;
  gnn.node_head = inputs.node_head;
  gnn.values = inputs.values;
  gnn.standardize = inputs.standardize;
  auto model = std::make_unique<Gnn>(gnn, static_cast<uint64_t>(recipe.seed));
  if (inputs.nodes > 0) model->embed_nodes();
  return model;
}

std::unique_ptr<GraphModel> read_gnn(const SafetensorsView& file) {
  auto options = read_options<GnnOptions>(file);
  options.standardize = file.tensors().contains(FeatureUnits::kMean);
  const bool of_nodes = options.num_ids > 0 && read_ids(file, "vocabulary.ids").keys.empty();
  const auto make = [&] {
    auto model = std::make_unique<Gnn>(options, 0);
    if (of_nodes) model->embed_nodes();
    return model;
  };
  return of_nodes ? read_model(file, "embedding.weight", make) : read_model(file, make);
}

std::optional<Json> gnn_json(const GraphModel& model) {
  const auto* const gnn = dynamic_cast<const Gnn*>(&model);
  return gnn == nullptr ? std::nullopt : std::optional(options_json(gnn->options()));
}

// Returns the distance up to which the Gaussians extend.
double cutoff_of(const SgmpOptions& paths, const ModelInputs& inputs) {
  if (!paths.asked_cutoff.is_auto()) return paths.asked_cutoff.number<double>();
  return paths.mode == PathMode::reference ? 10 : inputs.edge_distance();
}

template <bool gtmp>
std::unique_ptr<GraphModel> make_sgmp(const Recipe& recipe, const ModelInputs& inputs) {
  SgmpOptions paths = recipe.paths;
  paths.in_features = inputs.node_features;
  paths.cutoff = cutoff_of(paths, inputs);
  paths.gtmp = gtmp;
  paths.classes = inputs.outputs;
  paths.node_head = inputs.node_head;
  paths.values = inputs.values;
  paths.standardize = inputs.standardize;
  return std::make_unique<Sgmp>(paths, static_cast<uint64_t>(recipe.seed));
}

template <bool gtmp>
std::unique_ptr<GraphModel> read_sgmp(const SafetensorsView& file) {
  auto options = read_options<SgmpOptions>(file);
  options.gtmp = gtmp;
  options.standardize = file.tensors().contains(FeatureUnits::kMean);
  return read_model(file, [&] { return std::make_unique<Sgmp>(options, 0); });
}

template <bool gtmp>
std::optional<Json> sgmp_json(const GraphModel& model) {
  const auto* const sgmp = dynamic_cast<const Sgmp*>(&model);
  if (sgmp == nullptr || sgmp->options().gtmp != gtmp) return std::nullopt;
  return options_json(sgmp->options());
}

// A kind of model: functions that make it from a recipe, read it from a file, and return its options if a
// model is of this kind.
struct GraphModelKind {
  ModelKind kind;
  std::unique_ptr<GraphModel> (*make)(const Recipe& recipe, const ModelInputs& inputs);
  std::unique_ptr<GraphModel> (*read)(const SafetensorsView& file);
  std::optional<Json> (*json)(const GraphModel& model);
};

// One line per kind of model.
constexpr GraphModelKind kModels[] = {{ModelKind::gnn, make_gnn, read_gnn, gnn_json},
                                      {ModelKind::sgmp, make_sgmp<false>, read_sgmp<false>, sgmp_json<false>},
                                      {ModelKind::gtmp, make_sgmp<true>, read_sgmp<true>, sgmp_json<true>}};

const GraphModelKind& find_kind(ModelKind kind) {
  for (const GraphModelKind& known : kModels)
    if (known.kind == kind) return known;
  throw Failure("no model of this kind is known");
}

}  // namespace

std::unique_ptr<GraphModel> make_graph_model(const Recipe& recipe, const ModelInputs& inputs) {
  return find_kind(recipe.model).make(recipe, inputs);
}

std::unique_ptr<GraphModel> read_graph_model(const SafetensorsView& file) {
  const std::string word = file.meta("plimsoll.model");
  const std::optional<ModelKind> kind = find_word<ModelKind>(word);
  if (!kind)
    throw InputError(
        fmt::format("{}: found a model of kind '{}', expected 'gnn', 'sgmp' or 'gtmp'", file.path(), word));
  return find_kind(*kind).read(file);
}

ModelDescription describe_model(const GraphModel& model) {
  for (const GraphModelKind& known : kModels)
    if (std::optional<Json> options = known.json(model)) return {word_of(known.kind), std::move(*options)};
  throw Failure("a model of an unknown kind cannot be written");
}

}  // namespace plimsoll
