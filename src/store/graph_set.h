#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/data_set.h"
#include "store/message_ids.h"

namespace plimsoll {

/// The kind of data set that holds many graphs.
inline constexpr const char* kGraphSetKind = "graph_set";

/// Columns of G consecutive graphs with N nodes and E edges in total (docs/formats/graph-set.md), as a view
/// of memory that this object does not own. Offsets in node_ptr and edge_ptr are relative to their first
/// entries, which need not be 0.
struct GraphSpans {
  std::span<const int64_t> node_ptr;  ///< [G+1]
  std::span<const int64_t> edge_ptr;  ///< [G+1]
  std::span<const float> x;           ///< [N, F]
  std::span<const int32_t> edges;     ///< [E, 2]: source and target, local to the graph.
  std::span<const float> edge_attr;   ///< [E, K]
  std::span<const int64_t> y;         ///< [G]
  /// [N] class of a node, -1 if unlabelled; empty without this column.
  std::span<const int64_t> node_y = {};
  /// [G, T] values to predict, NaN if unknown; empty without this column.
  std::span<const float> target = {};
  /// [N, T] values to predict, NaN if unknown; empty without this column.
  std::span<const float> node_target = {};
  std::span<const float> pos = {};  ///< [N, 3] coordinates of a node; empty without this column.

  int64_t graphs() const { return static_cast<int64_t>(y.size()); }
};

/// A named range of graphs: a split, or a recording within a split.
struct GraphRange {
  std::string name;
  std::string split;  ///< Split of a recording.
  int64_t first_graph = 0;
  int64_t graphs = 0;
  std::optional<std::string> attack;   ///< Attack of a recording.
  std::optional<std::string> copy_of;  ///< "split/name" of a recording with the same content.
  std::string content = {};            ///< Hash of a recording's content, equal for copies.

  int64_t bytes() const;  ///< Returns the bytes that the range needs in a growing list.
};

/// Metadata of a graph_set, in addition to the columns.
struct GraphSetTables {
  std::vector<GraphRange> splits;
  std::vector<GraphRange> recordings;
  std::vector<std::string> node_features;
  std::vector<std::string> edge_features;
  MessageIds vocabulary;  ///< Empty if nodes are not IDs.
  /// Names of the features that compare a message with what was learned about its ID. For an unknown ID and
  /// its edges, these features are 0. Not stored in the data set.
  std::vector<std::string> of_known_ids = {};
};

/// Number of values to predict per graph, and per node; 0 without such a column.
struct TargetWidths {
  int64_t graph = 0;
  int64_t node = 0;
};

inline constexpr int64_t kCoordinates = 3;  ///< Coordinates of a node: x, y, z.

/// Writes a `graph_set` (docs/formats/graph-set.md). Not thread-safe. Errors of all members: Failure (disk),
/// BudgetExceeded.
class GraphSetWriter {
 public:
  /// `node_features` and `edge_features` are F and K, the widths of the rows of x and edge_attr.
  GraphSetWriter(const std::filesystem::path& folder, bool replace, int64_t node_features,
                 int64_t edge_features, const TargetWidths& targets = {},
                 FileSystem& files = FileSystem::disk());

  /// Appends graphs, whose x, edge_attr and targets must have the widths of the constructor. The columns
  /// node_y and pos are written if the graphs have them. Errors: also Failure if only some nodes have such a
  /// column; the writer is then useless.
  void append(const GraphSpans& graphs);
  /// Writes the manifest and makes the data set appear. Call it once. GraphSetView, not this function, checks
  /// the ranges of `tables`. Errors: also Failure (the output exists and must not be replaced), InputError (a
  /// text that is not UTF-8).
  void publish(const GraphSetTables& tables, Json provenance);

 private:
  DataSetWriter set_;
  NpyWriter& node_ptr_;
  NpyWriter& edge_ptr_;
  NpyWriter& x_;
  NpyWriter& edges_;
  NpyWriter& edge_attr_;
  NpyWriter& y_;
  NpyWriter* node_y_ = nullptr;  // Created when the first class of a node is appended.
  NpyWriter* pos_ = nullptr;     // Created when the first coordinates are appended.
  NpyWriter* target_ = nullptr;
  NpyWriter* node_target_ = nullptr;
  int64_t nodes_ = 0;
  int64_t edge_count_ = 0;
  int64_t graphs_ = 0;
  int64_t node_classes_ = 0;
  int64_t positions_ = 0;
};

/// A `graph_set` opened for reading, as spans of mapped columns that are valid as long as it lives.
/// Immutable, so any number of threads may read it.
class GraphSetView {
 public:
  /// Opens the folder. Errors: InputError (not a graph_set; columns that do not match each other; splits or
  /// recordings that overlap, omit graphs or do not match each other), Failure, BudgetExceeded. The content
  /// of the columns is not read, except the ends of node_ptr and edge_ptr; `plimsoll verify` checks it.
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
  Charge charge_{Tag::columns};  // Memory of the tables.
  GraphSetTables tables_;
  int64_t node_features_ = 0;
  int64_t edge_features_ = 0;
  TargetWidths targets_;
};

}  // namespace plimsoll
