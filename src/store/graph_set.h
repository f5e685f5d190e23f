#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/data_set.h"
#include "store/message_ids.h"

namespace plimsoll {

/// Consecutive graphs as columns (docs/formats/graph-set.md); a view of somebody else's memory.
/// Pointers count from node_ptr[0] and edge_ptr[0], which need not be 0. G graphs, N nodes, E edges.
struct GraphSpans {
  std::span<const int64_t> node_ptr;  ///< [G+1]
  std::span<const int64_t> edge_ptr;  ///< [G+1]
  std::span<const float> x;           ///< [N, F]
  std::span<const int32_t> edges;     ///< [E, 2]: source, target, local to the graph
  std::span<const float> edge_attr;   ///< [E, K]
  std::span<const int64_t> y;         ///< [G]
  std::span<const int64_t> node_y =
      {};                              ///< [N] class of a node, -1 where unlabelled; or empty: no such column
  std::span<const float> target = {};  ///< [G, T] to be predicted, NaN where unknown; or empty: likewise
  std::span<const float> node_target = {};  ///< [N, T]; likewise
  std::span<const float> pos = {};          ///< [N, 3] where a node lies; or empty: likewise

  int64_t graphs() const { return static_cast<int64_t>(y.size()); }
};

/// A run of graphs with a name: a split, or a recording within one.
struct GraphRange {
  std::string name;
  std::string split;  ///< for a recording
  int64_t first_graph = 0;
  int64_t graphs = 0;
  std::optional<std::string> attack;   ///< for a recording
  std::optional<std::string> copy_of;  ///< for a recording: "split/name" of one with the same content
  std::string content = {};            ///< for a recording: equal for copies

  int64_t bytes() const;  ///< what it takes in a list that grows
};

/// What a graph_set says about its graphs, beside the columns.
struct GraphSetTables {
  std::vector<GraphRange> splits;
  std::vector<GraphRange> recordings;
  std::vector<std::string> node_features;
  std::vector<std::string> edge_features;
  MessageIds vocabulary;  ///< empty where nodes are not IDs
  /// Those of the features that compare with what was learned of known IDs: 0 for an ID that is not known,
  /// and for an edge of one.
  std::vector<std::string> of_known_ids = {};
};

/// How many numbers are to be predicted of a graph, and of a node; 0: there is no such column.
struct TargetWidths {
  int64_t graph = 0;
  int64_t node = 0;
};

inline constexpr int64_t kCoordinates = 3;  ///< of a node: x, y, z

/// Writes a `graph_set`. Not thread-safe.
class GraphSetWriter {
 public:
  /// F node features and K edge features a row.
  GraphSetWriter(const std::filesystem::path& folder, bool replace, int64_t node_features,
                 int64_t edge_features, const TargetWidths& targets = {},
                 FileSystem& files = FileSystem::disk());

  /// The columns node_y and pos are written if graphs come with them. Errors: Failure (disk; either of some
  /// nodes only).
  void append(const GraphSpans& graphs);
  void publish(const GraphSetTables& tables, Json provenance);

 private:
  DataSetWriter set_;
  NpyWriter& node_ptr_;
  NpyWriter& edge_ptr_;
  NpyWriter& x_;
  NpyWriter& edges_;
  NpyWriter& edge_attr_;
  NpyWriter& y_;
  NpyWriter* node_y_ = nullptr;  // made when the first class of a node comes
  NpyWriter* pos_ = nullptr;     // likewise
  NpyWriter* target_ = nullptr;
  NpyWriter* node_target_ = nullptr;
  int64_t nodes_ = 0;
  int64_t edge_count_ = 0;
  int64_t graphs_ = 0;
  int64_t node_classes_ = 0;
  int64_t positions_ = 0;
};

/// A `graph_set` opened for reading.
class GraphSetView {
 public:
  /// Errors: InputError (no graph_set; columns that do not agree; splits or recordings that overlap, leave
  /// graphs out or do not fit each other). What lies in the columns is not read: that is `plimsoll verify`.
  explicit GraphSetView(const std::filesystem::path& folder);

  const DataSetView& set() const { return set_; }
  const GraphSpans& graphs() const { return graphs_; }
  const GraphSetTables& tables() const { return tables_; }
  int64_t node_features() const { return node_features_; }
  int64_t edge_features() const { return edge_features_; }
  const TargetWidths& targets() const { return targets_; }

 private:
  DataSetView set_;
  GraphSpans graphs_;
  Charge charge_{Tag::columns};  // of the tables
  GraphSetTables tables_;
  int64_t node_features_ = 0;
  int64_t edge_features_ = 0;
  TargetWidths targets_;
};

}  // namespace plimsoll
