#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "config/recipe.h"
#include "engine/data/split.h"
#include "sample/block/block.h"
#include "sample/block/column_order.h"
#include "sample/block/forest_source.h"
#include "sample/block/graph_set_source.h"
#include "sample/neighbour/neighbour_source.h"
#include "store/message_ids.h"

namespace plimsoll {

/// Options for opening a data set.
struct DataOptions {
  ScratchSpace scratch = {};  ///< Disk space for blocks; see NeighbourSourceOptions.
  /// Whether blocks run on a device: feature rows of one giant graph may be kept on it.
  bool on_device = false;
  /// For one giant graph: make blocks of its seeds, for training. If false, the graph needs no labels, no
  /// splits and no held-out edges.
  bool seeds = true;
  /// For one giant graph: predict whether pairs of nodes have an edge, with this number of pairs without an
  /// edge per edge.
  std::optional<int64_t> negatives = {};
  Targets targets = Targets::none;          ///< Targets of a graph_set.
  NodeLabels labels = NodeLabels::classes;  ///< For one giant graph: kind of labels to predict for nodes.
  bool forests = false;  ///< Whether graphs become forests from pretraining.root (ForestSource).
  /// For data whose graphs are made when they are read: the nodes that a trained model knows, by index. If
  /// empty, the nodes of the data are used.
  MessageIds vocabulary = {};
};

/// Describes how many of the graphs that follow a graph share part of its data.
struct Overlap {
  int64_t graphs = 0;  ///< Number of these graphs; 0 also if it is unknown.
  std::string what;    ///< Describes what is shared, such as "a row shares columns".
};

/// A data set of a kind that this module does not know. The module that knows the kind opened it.
struct OpenedData {
  std::shared_ptr<const void> owner;  ///< Owns the data that the source reads; outlives the source.
  std::unique_ptr<BlockSource> source;
  Json identity;
  const char* unit = "graphs";
  Overlap overlap = {};
};

/// Registers `open` for data sets of a kind. A program calls it at its start (cli/known_tasks.h), before it
/// starts other threads. `open` may throw the errors of TrainingData.
void register_opener(const std::string& kind,
                     OpenedData (*open)(const std::filesystem::path& folder, const Recipe& recipe,
                                        const MessageIds& vocabulary));

/// Returns the kinds for which register_opener() was called.
std::vector<std::string> opened_kinds();

/// Registers the function that determines the overlap of the graphs of a graph_set. Like register_opener(), a
/// program calls it at its start.
void register_overlap(Overlap (*find)(const DataSetView& set));

/// A data set as training uses it: graphs of a `graph_set`, blocks of seeds of one giant `graph` with their
/// neighbours, or graphs that are made from data of another kind when they are read.
class TrainingData {
 public:
  /// Opens a data set, without the features that recipe.data.without names. Errors: InputError; UsageError
  /// for features that do not exist, and for a recipe that does not work with data of this kind;
  /// BudgetExceeded.
  TrainingData(const std::filesystem::path& folder, const Recipe& recipe, DataOptions options = {});

  const BlockSource& source() const { return *source_; }
  /// Makes source() return features in another order, except for one giant graph, whose blocks of seeds keep
  /// the order of the graph. Call it at most once, before source() is used.
  void order_features(const FeatureOrder& order);
  /// Returns the source of a `graph`; null for other data sets.
  const NeighbourSource* neighbours() const { return neighbours_; }
  /// Counts of the graphs that became forests, if the task requests forests.
  ForestCounts forests() const { return forests_ != nullptr ? forests_->counts() : ForestCounts{}; }
  /// Describes forests() in words; empty if all graphs stay unchanged.
  std::string forests_in_words() const;
  const Json& identity() const { return identity_; }
  /// Returns the name of what source() counts: "graphs", "blocks" for one giant graph, or OpenedData::unit.
  const char* unit() const { return unit_; }
  const Overlap& overlap() const { return overlap_; }
  /// Returns XXH3-64 of the identity.
  std::string identity_hash() const;

 protected:
  TrainingData(const std::filesystem::path& folder, const Recipe& recipe, OpenedData opened);

 private:
  void open_graph(const std::filesystem::path& folder, const Recipe& recipe, const DataOptions& options);
  void open_graph_set(const std::filesystem::path& folder, const Recipe& recipe, const DataOptions& options);
  void take(OpenedData opened);
  void hide_features(const Recipe& recipe);

  std::shared_ptr<const void> owner_;
  std::unique_ptr<BlockSource> source_;
  const NeighbourSource* neighbours_ = nullptr;  // Points to source_ or is null.
  const ForestSource* forests_ = nullptr;        // Points to source_ or is null.
  int64_t root_;                                 // Root of the forests.
  const char* unit_ = "graphs";
  Overlap overlap_;
  Json identity_;
};

/// Returns the maximum number of threads that read a data set in addition to those that read blocks ahead:
/// their stacks use address space.
int threads_that_read(const std::filesystem::path& folder);

/// Returns the split that a recipe requests. `shapes` has one entry per graph; it is not used for one giant
/// graph. Errors: UsageError if the data cannot be split like this; those of split_by_graph(),
/// split_by_recording() and split_by_time().
TrainingSplit split_for(const Recipe& recipe, const TrainingData& data, std::span<const GraphShape> shapes);

/// Returns the recipe in the units of the block engine: for one giant graph a block is one graph, and a batch
/// is a number of blocks.
Recipe block_recipe(Recipe recipe, const TrainingData& data);

}  // namespace plimsoll
