#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

#include "ingest/graph/graph.h"

namespace plimsoll {

/// A graph that `ingest graph` made, and to which edges and nodes can be appended.
struct BaseGraph {
  GraphView view;
  /// Options with which it was made. Paths are names of files, without folders, except an array of edge
  /// features.
  GraphIngestOptions options;
  NodeIds ids = NodeIds::dense;  ///< The kind of its IDs, never automatic.

  /// Opens the graph. Errors: InputError (no such graph, or one that edges cannot be appended to, with the
  /// remedy), Failure, BudgetExceeded.
  explicit BaseGraph(const std::filesystem::path& folder);

  /// Whether rows of nodes, not edges, define the nodes.
  bool has_rows() const;
};

/// Returns the options for appending to the graph `given.append`: `given`, but options of the whole graph
/// have the values with which it was made, and so do options about the form of files, such as names of
/// columns, unless `is_given` returns true for them. `is_given` gets names of options of the command line,
/// such as "--source". Errors: those of BaseGraph; UsageError for an option that belongs to the whole graph,
/// such as --undirected, and for missing or unexpected files of nodes or of values of edges.
GraphIngestOptions append_options(const GraphIngestOptions& given,
                                  const std::function<bool(std::string_view option)>& is_given);

/// Returns the provenance of the result: the provenance of the base, with the new sources and options added.
Json append_provenance(const BaseGraph& base, const Json& sources, const GraphIngestOptions& options);

}  // namespace plimsoll
