#pragma once

#include "base/words.h"

namespace plimsoll {

/// What a run trains. run/task.h has the interface of tasks.
enum class TaskName : uint8_t {
  autoencoder,
  detection,
  distillation,
  graph_classification,
  graph_regression,
  link_prediction,
  node_classification,
  node_multilabel_classification,
  node_regression,
  tree_classification,
  tree_pretraining
};
template <>
inline constexpr auto kWords<TaskName> = std::to_array<std::string_view>(
    {"autoencoder", "detection", "distillation", "graph_classification", "graph_regression",
     "link_prediction", "node_classification", "node_multilabel_classification", "node_regression",
     "tree_classification", "tree_pretraining"});

/// The model in tasks of graphs, nodes and values: `gnn`, or a model of `paths`.
enum class ModelKind : uint8_t { gnn, sgmp, gtmp };
template <>
inline constexpr auto kWords<ModelKind> = std::to_array<std::string_view>({"gnn", "sgmp", "gtmp"});

/// Source of the mean and scale of targets with init_from.
enum class TargetScaleSource : uint8_t { data, model };
template <>
inline constexpr auto kWords<TargetScaleSource> = std::to_array<std::string_view>({"data", "model"});

}  // namespace plimsoll
