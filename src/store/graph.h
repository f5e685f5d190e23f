#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/words.h"
#include "store/data_set.h"
#include "store/linked_column.h"
#include "store/narrow_column.h"
#include "store/row_values.h"

namespace plimsoll {

/// The kind of data set that holds one graph of any size.
inline constexpr const char* kGraphKind = "graph";

/// The splits of a graph, in their order in the data set. Their columns are named NAME_idx.
inline constexpr std::array<const char*, 3> kGraphSplits = {"train", "valid", "test"};

/// Returns the name of a split's column of edges, NAME_edges. `split` is an index into kGraphSplits.
std::string edges_column(size_t split);

/// Neighbours in the row of a node: `in` for sources of its incoming edges, `out` for targets of its outgoing
/// edges.
enum class EdgeDirection : uint8_t { in, out };
template <>
inline constexpr auto kWords<EdgeDirection> = std::to_array<std::string_view>({"in", "out"});

/// Metadata of a graph, in addition to the columns.
struct GraphTables {
  EdgeDirection direction = EdgeDirection::in;
  int64_t classes = 0;  ///< Number of classes in y, whose values are -1 .. classes-1; 0 without y.
  std::vector<std::string> class_names = {};  ///< [classes], or empty.
  std::vector<std::string> node_features = {};
  std::vector<std::string> edge_features = {};
};

class GraphView;

/// Writes a `graph` (docs/formats/graph.md) as a stream, with one buffer per column. It has V nodes with F
/// features each, and E edges with K features each. A column is written if anything is appended to it; each
/// call gives whole rows, whose widths are at least 1. publish() refuses columns whose lengths do not match,
/// but does not check values. Not thread-safe. Errors of all members: Failure (disk), BudgetExceeded.
class GraphWriter {
 public:
  GraphWriter(const std::filesystem::path& folder, bool replace, FileSystem& files = FileSystem::disk());

  /// A folder for scratch files, removed when the graph is published or discarded. Callers must remove their
  /// files before publish().
  std::filesystem::path scratch() const { return set_.path(); }
  FileSystem& files() const { return set_.files(); }

  /// Appends, for each of the next nodes, the index of the edge at which its row ends: indptr without its
  /// first 0.
  void append_row_ends(std::span<const int64_t> ends);
  /// Appends the neighbours of the next edges, ascending within the row of a node: as u32, or as i64 for more
  /// than 2^32 nodes. Use only one of the two for a graph.
  void append_indices(std::span<const uint32_t> indices);
  void append_indices(std::span<const int64_t> indices);
  void append_edge_weight(std::span<const float> weights);
  /// Appends whole rows of `features` values each.
  void append_edge_attr(std::span<const float> values, int64_t features);
  /// Appends the user's IDs of the next edges. Each ID 0 .. E-1 must occur once.
  void append_edge_id(std::span<const int64_t> ids);
  void append_x(std::span<const float> values, int64_t features);
  /// Links a .npy file as x instead of appending rows (linked_column.h). Errors: those of link_column().
  void link_x(const std::filesystem::path& array, const std::function<void()>& tick);
  /// Sets the stored type of x, if it is not f32. Call it before the first append_x(). The scale in `as` must
  /// stay valid until publish().
  void store_x(const StoredAs& as) { narrow_x_ = NarrowColumn(as); }
  /// Adds a column of another graph, without reading it, instead of appending rows (shared_column.h). The
  /// column must have the rows that this graph will have.
  void share(const GraphView& from, const std::string& name, const std::function<void()>& tick);
  /// Appends the classes of the next nodes, -1 for an unlabelled one.
  void append_y(std::span<const int64_t> classes);
  /// Appends whole rows of `width` values to predict, NaN if unknown.
  void append_node_targets(std::span<const float> values, int64_t width);
  /// Appends the user's IDs of the next nodes.
  void append_node_id(std::span<const int64_t> ids);
  /// Appends the user's name of the next node.
  void append_node_name(std::string_view name);
  /// Appends the next nodes of a split, ascending. `split` is an index into kGraphSplits.
  void append_split(size_t split, std::span<const int64_t> nodes);
  /// Appends the next edges [n, 2] of a split, sorted by node and neighbour. Each is a neighbour and the node
  /// whose row contains the neighbour, or contained it before the edge was held out.
  void append_split_edges(size_t split, std::span<const int64_t> edges);

  /// Number of nodes and edges whose row ends were appended.
  int64_t nodes() const { return nodes_; }
  int64_t edges() const { return edges_; }

  /// Stores x in its type, writes the manifest and makes the graph appear. Call it once. Errors: also Failure
  /// (columns of different lengths; the output exists and must not be replaced), InputError (a text that is
  /// not UTF-8; a number of x that its type cannot hold).
  void publish(const GraphTables& tables, Json provenance);

 private:
  template <typename T>
  NpyWriter& column(NpyWriter*& writer, const std::string& name, const std::vector<int64_t>& row = {});
  void require_counts() const;

  struct Counted {
    NpyWriter* writer = nullptr;
    int64_t rows = 0;
  };

  DataSetWriter set_;
  NarrowColumn narrow_x_;
  std::optional<LinkedColumn> linked_x_;
  Json shared_narrow_;  // The entry "narrow" of a shared x; null for f32.
  NpyWriter& indptr_;
  Counted indices_, edge_weight_, edge_attr_, edge_id_, x_, y_, node_targets_, node_id_, name_ptr_;
  NpyWriter* names_ = nullptr;
  int64_t name_bytes_ = 0;
  std::array<NpyWriter*, kGraphSplits.size()> splits_{};
  std::array<NpyWriter*, kGraphSplits.size()> split_edges_{};
  int64_t nodes_ = 0;
  int64_t edges_ = 0;  // Edge at which the last row ends.
};

/// A `graph` opened for reading, as spans of mapped columns that are valid as long as it lives. Immutable, so
/// any number of threads may read it.
class GraphView {
 public:
  /// Opens the folder. Errors: InputError (not a graph, or one with node types; columns that do not match
  /// each other), Failure, BudgetExceeded. The content of the columns is not read, except the ends of indptr
  /// and node_name_ptr; `plimsoll verify` checks it.
  explicit GraphView(const std::filesystem::path& folder);

  const DataSetView& set() const { return set_; }
  const GraphTables& tables() const { return tables_; }
  int64_t nodes() const { return static_cast<int64_t>(indptr_.size()) - 1; }
  int64_t edges() const { return edges_; }
  int64_t node_features() const { return x_values_.width; }
  int64_t edge_features() const { return edge_features_; }

  std::span<const int64_t> indptr() const { return indptr_; }  ///< [V+1]
  /// [E]. One of indices() and wide_indices() is empty.
  std::span<const uint32_t> indices() const { return indices_; }
  std::span<const int64_t> wide_indices() const { return wide_indices_; }
  /// Returns the neighbour of an edge.
  int64_t neighbour(int64_t edge) const {
    const auto at = static_cast<size_t>(edge);
    return wide_indices_.empty() ? static_cast<int64_t>(indices_[at]) : wide_indices_[at];
  }
  std::span<const float> edge_weight() const { return edge_weight_; }  ///< [E], or empty
  std::span<const float> edge_attr() const { return edge_attr_; }      ///< [E, K], or empty
  /// [E], or empty if the ID of an edge is its index.
  std::span<const int64_t> edge_id() const { return edge_id_; }
  /// How the rows of x are stored. Its width is 0 without x.
  const RowValues& x_values() const { return x_values_; }
  /// Copies the rows of x from node `first` on, as f32 [nodes, F], into `rows`, which has whole rows. The
  /// graph must have x.
  void copy_x(int64_t first, std::span<float> rows) const {
    x_values_.widen(x_.data() + first * x_values_.row_bytes(), rows);
  }
  /// All of x as it is stored.
  std::span<const std::byte> x_bytes() const { return x_; }
  std::span<const int64_t> y() const { return y_; }  ///< [V], or empty
  /// [V, T] values to predict, NaN if unknown; or empty.
  std::span<const float> node_targets() const { return node_targets_; }
  int64_t target_width() const { return target_width_; }  ///< T, or 0.
  /// The values to predict for a node, [T].
  std::span<const float> targets_of(int64_t node) const {
    return node_targets_.subspan(static_cast<size_t>(node * target_width_),
                                 static_cast<size_t>(target_width_));
  }
  /// [n] ascending nodes of a split, or empty.
  std::span<const int64_t> split(size_t split) const { return splits_[split]; }
  /// [n, 2]: the edges that a split predicts, each as a neighbour and a node; or empty.
  std::span<const int64_t> split_edges(size_t split) const { return split_edges_[split]; }

  /// Whether the nodes have names (texts) given by the user.
  bool has_names() const { return !name_ptr_.empty(); }
  /// Returns the name of a node. The nodes must have names. Errors: InputError (damaged node_name_ptr).
  std::string_view name(int64_t node) const;
  std::span<const int64_t> name_ptr() const { return name_ptr_; }  ///< [V+1], or empty
  /// Returns the user's ID of a node, from the column node_id; the index of the node if there is no such
  /// column.
  int64_t id(int64_t node) const { return node_id_.empty() ? node : node_id_[static_cast<size_t>(node)]; }
  std::span<const int64_t> node_id() const { return node_id_; }  ///< [V] as stored, or empty.

 private:
  void read_tables();
  void require_narrow_x() const;
  void require_names() const;

  DataSetView set_;
  GraphTables tables_;
  int64_t edges_ = 0;
  int64_t edge_features_ = 0;
  int64_t target_width_ = 0;
  std::span<const int64_t> indptr_;
  std::span<const uint32_t> indices_;
  std::span<const int64_t> wide_indices_;
  std::span<const float> edge_weight_, edge_attr_, node_targets_;
  RowValues x_values_;
  std::span<const std::byte> x_;
  std::span<const int64_t> edge_id_, y_, node_id_, name_ptr_;
  std::string_view names_;
  std::array<std::span<const int64_t>, kGraphSplits.size()> splits_;
  std::array<std::span<const int64_t>, kGraphSplits.size()> split_edges_;
};

}  // namespace plimsoll
