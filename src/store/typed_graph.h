#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/data_set.h"

namespace plimsoll {

/// Version of a `graph` whose manifest lists node types and edge types (docs/formats/graph.md).
inline constexpr int kTypedGraphVersion = 3;

/// Returns the name of a column of a typed graph: `parts` joined by dots, such as "users.values.age".
/// Characters other than letters, digits, "-" and "_" are written as %XX, so that different parts give
/// different names. Errors: InputError if the name has more than 200 bytes.
std::string typed_column(const std::vector<std::string_view>& parts);

/// Returns whether a manifest describes a graph with node types.
bool has_node_types(const Json& manifest);

/// One edge type. Each node of the target type has a list of sources, sorted by time and source.
struct EdgeTypeView {
  std::string source, name, target;
  /// Where the time of an edge is stored: "source" or "target" (the time of that node), "edge" (`times`), or
  /// empty (edges have no times).
  std::string time = {};
  std::span<const int64_t> times = {};     ///< [edges] nanoseconds since 1970-01-01, if `time` is "edge".
  std::span<const int64_t> indptr = {};    ///< [nodes of target + 1]
  std::span<const uint32_t> indices = {};  ///< [edges]
};

/// One node type.
struct NodeTypeView {
  std::string name;
  int64_t nodes = 0;
  std::span<const int64_t> time = {};  ///< [nodes] nanoseconds since 1970-01-01, or empty.
};

/// The seeds of one split of a task: nodes, and the times for which something is predicted about them.
struct SeedsView {
  std::string split;
  std::span<const uint32_t> nodes = {};  ///< [seeds]
  std::span<const int64_t> times = {};   ///< [seeds] nanoseconds since 1970-01-01, or empty.
};

/// A task: what is to be predicted about nodes of one type (docs/formats/graph.md). `kind` and `type` are the
/// words of RelBench, such as "forecast" and "binary_classification"; `entity` is the node type.
struct TaskView {
  std::string name, kind, type, entity;
  std::vector<SeedsView> splits = {};
};

/// A `graph` with node types opened for reading, as spans of mapped columns that are valid as long as it
/// lives. Immutable, so any number of threads may read it.
class TypedGraphView {
 public:
  /// Opens the folder. Errors: InputError (not a graph with node types; columns that do not match each
  /// other), Failure, BudgetExceeded. The content of the columns is not read, except the ends of lists;
  /// `plimsoll verify` checks it.
  explicit TypedGraphView(const std::filesystem::path& folder);

  const DataSetView& set() const { return set_; }
  const std::vector<NodeTypeView>& node_types() const { return node_types_; }
  const std::vector<EdgeTypeView>& edge_types() const { return edge_types_; }
  const std::vector<TaskView>& tasks() const { return tasks_; }
  /// Returns the node type with this name. Errors: InputError (no such type).
  const NodeTypeView& node_type(const std::string& name) const;

 private:
  void read_node_types();
  void read_edge_types();

  DataSetView set_;
  std::vector<NodeTypeView> node_types_;
  std::vector<EdgeTypeView> edge_types_;
  std::vector<TaskView> tasks_;
};

/// Returns the tasks of a graph with node types. Errors: InputError (columns that do not match each other).
std::vector<TaskView> read_tasks(const DataSetView& set);

/// Appends a sentence for each fault found in a graph with node types, except for wrong checksums. Errors:
/// those of TypedGraphView.
void verify_typed_graph(const std::filesystem::path& folder, std::vector<std::string>& findings);

}  // namespace plimsoll
