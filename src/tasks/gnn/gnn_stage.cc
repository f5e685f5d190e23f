#include "tasks/gnn/gnn_stage.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "engine/fit/edge_distances.h"
#include "engine/fit/target_scale.h"
#include "nn/classification.h"
#include "nn/multi_label.h"
#include "nn/regression.h"
#include "nn/sgmp.h"
#include "nn/tree_pretraining.h"
#include "sample/block/column_order.h"
#include "tasks/gnn/table_place.h"

namespace plimsoll {
namespace {

// Classes are counted from 0; a label of this size or more is treated as a mistake.
constexpr int32_t kMaxClasses = 65536;

// Returns the highest label of a list. Errors: InputError if a label is not a class, or if there are no
// labels.
int32_t highest_label(const GraphList& graphs, const char* side, const GraphShapes& shapes, bool node_head) {
  int32_t highest = -1;
  for (const int64_t g : graphs) {
    const GraphShape& shape = shapes[g];
    const int32_t label = node_head ? shape.highest_node_label : shape.label;
    if ((!node_head && label < 0) || label >= kMaxClasses)
      throw InputError(
          fmt::format("graph {} has the label {}, expected a class from 0 to {}", g, label, kMaxClasses - 1));
    highest = std::max(highest, label);
  }
  if (highest < 0)
    throw InputError(fmt::format("no node of the {} graphs has a label (column node_y)", side));
  return highest;
}

int64_t count_classes(const TrainingSplit& split, const GraphShapes& shapes, bool node_head) {
  const int32_t training = highest_label(split.training, "training", shapes, node_head);
  const int32_t highest =
      std::max(training, highest_label(split.validation, "validation", shapes, node_head));
  if (highest < 1) throw InputError("all labels are 0, expected at least two classes");
  return int64_t{highest} + 1;
}

// Number of outputs of the last layer per item.
int64_t outputs_of(const GnnStageOptions& options) {
  if (options.head == GnnHead::pairs) return options.recipe->gnn.hidden;
  if (options.head == GnnHead::trees)
    return options.recipe->pretraining.bins + options.recipe->pretraining.angle_bins;
  const int64_t targets = options.source->widths().targets.width;
  return targets > 0 ? targets
                     : count_classes(*options.split, options.shapes, options.head == GnnHead::nodes);
}

// Returns the distance that 99 % of the edges do not exceed; 1 for graphs without edges, or if all points
// coincide.
double edge_distance(const GnnStageOptions& options) {
  constexpr double kShare = 0.99;
  const GraphList& measured = options.measured != nullptr ? *options.measured : options.split->training;
  const double distance = distance_percentile(*options.source, measured, kShare).value_or(0);
  return distance > 0 ? distance : 1;
}

std::unique_ptr<GraphModel> make_model(const GnnStageOptions& options) {
  if (options.source->node_features() == 0) throw InputError("the data set has no node features");
  if (options.recipe->features.standardize && options.source->widths().node_numbers > 0)
    throw UsageError("features.standardize: the nodes have no features to standardize; set it to false");
  ModelInputs inputs = model_inputs(*options.recipe, *options.source, options.head, outputs_of(options));
  inputs.edge_distance = [&] { return edge_distance(options); };
  return make_graph_model(*options.recipe, inputs);
}

std::unique_ptr<Objective> make_objective(const GnnStageOptions& options, const GraphModel& model) {
  if (options.objective != nullptr) return options.objective(model);
  if (options.head == GnnHead::pairs) throw Failure("a task of pairs has no objective");
  if (options.head == GnnHead::trees) return make_pretraining(*options.recipe, model, /*baseline=*/false);
  if (options.head == GnnHead::labels) return std::make_unique<MultiLabel>(model);
  if (model.gives_values()) return std::make_unique<Regression>(model);
  return std::make_unique<Classification>(model);
}

void learn_scale(const GnnStageOptions& options, const GraphModel& model) {
  const TargetScale scale = options.giant != nullptr ? target_scale(options.giant->graph(),
                                                                    options.giant->blocks().lists()[0].nodes)
                                                     : target_scale(*options.source, *options.split);
  const TargetUnits units = model.target_units();
  std::ranges::copy(scale.mean, units.mean.mutable_data_ptr<float>());
  std::ranges::copy(scale.deviation, units.scale.mutable_data_ptr<float>());
}

// Returns the scale over the nodes used for training. If edges are predicted, these are all nodes of a giant
// graph.
FeatureScale training_scale(const GnnStageOptions& options) {
  if (options.giant == nullptr) return feature_scale(*options.source, options.split->training);
  const GraphView& graph = options.giant->graph();
  const auto& nodes = options.giant->blocks().lists()[0].nodes;
  return nodes.empty() ? feature_scale(graph) : feature_scale(graph, nodes);
}

void learn_features(const GnnStageOptions& options, const GraphModel& model) {
  const FeatureScale scale = training_scale(options);
  const FeatureUnits units = model.feature_units();
  auto* const mean = units.mean.mutable_data_ptr<float>();
  auto* const deviation = units.scale.mutable_data_ptr<float>();
  // The first feature is an index if nodes are IDs.
  for (size_t f = options.source->tables().vocabulary.empty() ? 0 : 1; f < scale.mean.size(); ++f) {
    mean[f] = scale.mean[f];
    deviation[f] = scale.deviation[f] > 0 ? scale.deviation[f] : 1;
  }
}

// Returns the names of the features that the model reads and of the classes that it knows.
ModelNames names_of(const GnnStageOptions& options, const GraphModel& model) {
  const GraphSetTables& tables = options.source->tables();
  ModelNames names;
  if (!are_numbers(tables.node_features)) names.node_features = tables.node_features;
  if (!are_numbers(tables.edge_features)) names.edge_features = tables.edge_features;
  if (options.head != GnnHead::graphs && options.head != GnnHead::nodes) return names;
  if (model.gives_values()) return names;
  names.classes = options.class_names;
  // If there are more classes than names, no names are used.
  if (std::ssize(names.classes) < model.classes()) names.classes.clear();
  if (!names.classes.empty()) names.classes.resize(static_cast<size_t>(model.classes()));
  return names;
}

// Throws InputError if the weights of init_from are for other features than the data has, or for another
// order.
void require_features_of(const std::string& init_from, const ModelNames& data) {
  if (init_from.empty()) return;
  const ModelNames model = read_names(SafetensorsView(init_from));
  const auto require = [&](const std::vector<std::string>& expected, const std::vector<std::string>& found,
                           const char* what) {
    if (ColumnOrder(expected, found, what).changes())
      throw InputError(
          fmt::format("init_from: {} was trained on the {} {}; the data has them in another order: {}",
                      init_from, what, names_in_words(expected), names_in_words(found)));
  };
  require(model.node_features, data.node_features, "node features");
  require(model.edge_features, data.edge_features, "edge features");
}

const TrainingSplit& seen_of(const GnnStageOptions& options) {
  return options.seen != nullptr ? *options.seen : *options.split;
}

// Returns the bytes of the hashes of graphs in TrainedContents.
int64_t contents_bytes(const TrainingSplit& seen) {
  if (seen.fresh_epochs || !seen.contents.empty()) return 0;
  return (std::ssize(seen.training) + std::ssize(seen.validation)) * int64_t{sizeof(int64_t)};
}

FitOptions fit_options(const GnnStageOptions& options, const Objective& objective, StoredTable* table,
                       const MemoryPlan::TableBudgets& budgets = {}) {
  return {.source = options.source,
          .shapes = options.shapes,
          .objective = &objective,
          .recipe = options.recipe,
          .split = options.split,
          .table = table,
          .table_budgets = budgets,
          .afterwards = contents_bytes(seen_of(options)),
          .run = options.run};
}

// A model, and its table of embeddings if that is on a disk.
struct ModelWithTable {
  ModelWithTable(const GnnStageOptions& options, const std::optional<StoredTable::Options>& stored) {
    std::optional<StoredParameter> parameter;
    if (stored) {
      table = std::make_unique<StoredTable>(*stored);
      parameter.emplace(StoredTable::kName, *table);
    }
    model = make_model(options);
  }

  std::unique_ptr<StoredTable> table;  // Null if the table is in memory.
  std::unique_ptr<GraphModel> model;
};

MemoryPlan plan_with_table(const GnnStageOptions& options,
                           const std::optional<StoredTable::Options>& stored) {
  const ModelWithTable made(options, stored);
  return plan_fit(fit_options(options, *make_objective(options, *made.model), made.table.get()));
}

// Plans the stage if its table may be on a disk, because the plan decides where the table is.
PlacedTable placed_table(const GnnStageOptions& options) {
  if (!may_store_table(options)) return {};
  return place_table(options, [&](const auto& stored) { return plan_with_table(options, stored); });
}

}  // namespace

ModelInputs model_inputs(const Recipe& recipe, const BlockSource& source, GnnHead head, int64_t outputs) {
  return {.node_features = source.node_features(),
          .edge_features = source.edge_features(),
          .ids = static_cast<int64_t>(source.tables().vocabulary.size()),
          .nodes = source.widths().node_numbers,
          .outputs = outputs,
          .node_head = head != GnnHead::graphs,
          .values = source.widths().targets.width > 0 && head != GnnHead::labels,
          .standardize = recipe.features.standardize};
}

std::unique_ptr<Objective> make_pretraining(const Recipe& recipe, const GraphModel& model, bool baseline) {
  const auto* sgmp = dynamic_cast<const Sgmp*>(&model);
  if (sgmp == nullptr)
    throw UsageError("task tree_pretraining is for models of paths; set model: sgmp or gtmp");
  const AutoOrNumber& range = recipe.pretraining.range;
  return std::make_unique<TreePretraining>(
      model, recipe.pretraining, range.is_auto() ? sgmp->options().cutoff : range.number<double>(), baseline);
}

FeatureScale scale_of_some(const BlockSource& source, const NeighbourSource* giant,
                           const TrainingSplit& split) {
  constexpr size_t kNodes = 1000, kGraphs = 50;
  // Returns up to `count` numbers spread evenly over 0 .. all-1.
  const auto some_of = [](size_t all, size_t count) {
    std::vector<int64_t> some(std::min(all, count));
    for (size_t i = 0; i < some.size(); ++i) some[i] = static_cast<int64_t>(i * all / some.size());
    return some;
  };
  const auto chosen_from = [](const auto& list, std::vector<int64_t> places) {
    for (int64_t& place : places) place = list[static_cast<size_t>(place)];
    return places;
  };
  if (giant == nullptr)
    return feature_scale(source, chosen_from(split.training, some_of(split.training.size(), kGraphs)));
  const auto& nodes = giant->blocks().lists()[0].nodes;
  if (nodes.empty())  // Edges are learned, so all nodes are trained on.
    return feature_scale(giant->graph(), some_of(static_cast<size_t>(giant->graph().nodes()), kNodes));
  return feature_scale(giant->graph(), chosen_from(nodes, some_of(nodes.size(), kNodes)));
}

MemoryPlan plan_gnn(const GnnStageOptions& options) {
  std::optional<MetaParameters> without_data;
  if (options.run.without_data) without_data.emplace();
  if (!may_store_table(options)) return plan_with_table(options, {});
  return placed_table(options).plan;
}

GnnStageResult train_gnn(const GnnStageOptions& options) {
  GnnStageResult result;
  const PlacedTable placed = placed_table(options);
  ModelWithTable made(options, placed.stored);
  result.table = std::move(made.table);
  result.trained.model = std::move(made.model);
  if (result.trained.model->gives_values()) learn_scale(options, *result.trained.model);
  if (result.trained.model->feature_units().defined()) learn_features(options, *result.trained.model);
  result.trained.vocabulary = options.source->tables().vocabulary;
  result.trained.trained_on = options.data;
  result.trained.names = names_of(options, *result.trained.model);
  require_features_of(options.recipe->init_from, result.trained.names);
  const std::unique_ptr<Objective> objective = make_objective(options, *result.trained.model);
  result.fit = fit(fit_options(options, *objective, result.table.get(), placed.plan.table_budgets));
  if (!options.run.writes()) return result;
  // The splits of one giant graph are stored in its data set.
  if (!seen_of(options).fresh_epochs)
    result.trained.contents = TrainedContents::of(*options.source, seen_of(options));
  if (result.table != nullptr) result.table->free_reserve();
  save_gnn(options.run.folder / "model.safetensors", result.trained);
  return result;
}

}  // namespace plimsoll
