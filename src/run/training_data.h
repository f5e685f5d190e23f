#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/json.h"
#include "config/recipe.h"
#include "engine/data/split.h"
#include "sample/block/block.h"
#include "sample/block/forest_source.h"
#include "sample/block/graph_set_source.h"
#include "sample/neighbour/neighbour_source.h"
#include "store/message_ids.h"

namespace plimsoll {

/// How a data set is opened.
struct DataOptions {
  ScratchSpace scratch = {};  ///< as in NeighbourSourceOptions
  bool on_device = false;     ///< blocks run there: of one giant graph rows of features may stay there
  std::optional<int64_t> negatives =
      {};  ///< of one giant graph: pairs are judged, so many without an edge for each
  Targets targets = Targets::none;  ///< of a graph_set
  bool forests = false;             ///< its graphs become forests from pretraining.root (ForestSource)
  /// The nodes that a trained model knows, by index, for data whose graphs are made on the fly; empty: the
  /// data's own.
  MessageIds vocabulary = {};
};

/// A data set of a kind that this module does not know, opened by the module that does.
struct OpenedData {
  std::shared_ptr<const void> owner;  ///< of what the source reads; outlives it
  std::unique_ptr<BlockSource> source;
  Json identity;
  const char* unit = "graphs";
  int64_t overlap = 0;
};

/// Has data sets of a kind opened by `open`. A program calls it when it starts (cli/known_tasks.h), before
/// other threads do. Errors of `open`: those of TrainingData.
void register_opener(const std::string& kind,
                     OpenedData (*open)(const std::filesystem::path& folder, const Recipe& recipe,
                                        const MessageIds& vocabulary));

/// A data set as training sees it: graphs of a `graph_set`, blocks of seeds of one giant `graph` with their
/// neighbours, or graphs made on the fly of data of another kind.
class TrainingData {
 public:
  /// Features that recipe.data.without names are hidden. Errors: InputError; UsageError for features that are
  /// not there, and for a recipe that cannot be followed on data of this kind.
  TrainingData(const std::filesystem::path& folder, const Recipe& recipe, DataOptions options = {});

  const BlockSource& source() const { return *source_; }
  /// Null but for a `graph`.
  const NeighbourSource* neighbours() const { return neighbours_; }
  /// Which graphs became forests, where the task asks for them.
  ForestCounts forests() const { return forests_ != nullptr ? forests_->counts() : ForestCounts{}; }
  /// In words; empty where all stay as they are.
  std::string forests_in_words() const;
  const Json& identity() const { return identity_; }
  /// What its graphs are: windows, graphs, or blocks of one giant graph.
  const char* unit() const { return unit_; }
  /// Number of windows after a window that share frames with it: 0 where graphs are no windows, or what they
  /// were cut by is unknown.
  int64_t overlap() const { return overlap_; }
  /// XXH3-64 of the identity.
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
  const NeighbourSource* neighbours_ = nullptr;  // source_
  const ForestSource* forests_ = nullptr;        // likewise
  int64_t root_;                                 // of forests
  const char* unit_ = "graphs";
  int64_t overlap_ = 0;
  Json identity_;
};

/// Threads that read a data set beside those that read blocks ahead, at most: their stacks take addresses.
int threads_that_read(const std::filesystem::path& folder);

/// The split that a recipe asks for. `shapes` has an entry for each graph.
TrainingSplit split_for(const Recipe& recipe, const TrainingData& data, std::span<const GraphShape> shapes);

/// The recipe as the block engine counts: of one giant graph a block is one graph, and a batch so many
/// blocks.
Recipe block_recipe(Recipe recipe, const TrainingData& data);

}  // namespace plimsoll
