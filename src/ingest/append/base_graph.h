#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

#include "ingest/graph/graph.h"

namespace plimsoll {

/// A graph that `ingest graph` made, and to which edges and nodes can be appended.
struct BaseGraph {
  GraphView view;
  /// Options with which it was made. Paths are names of files, without folders.
  GraphIngestOptions options;
  NodeIds ids = NodeIds::dense;  ///< The kind of its IDs, never automatic.

  /// Errors: InputError (no such graph, or one that edges cannot be appended to, with the remedy).
  explicit BaseGraph(const std::filesystem::path& folder);

  /// Whether rows of nodes, not edges, define the nodes.
  bool has_rows() const;
};

/// Returns the options for appending to the graph `given.append`: those with which it was made, and of those
/// that concern the new files, such as names of columns, the ones in `given` for which `is_given` returns
/// true. `is_given` gets names of options of the command line, such as "--source". Errors: those of
/// BaseGraph; UsageError for an option that is that of the graph, such as --undirected, and for missing or
/// unexpected files of nodes or of values of edges.
GraphIngestOptions append_options(const GraphIngestOptions& given,
                                  const std::function<bool(std::string_view option)>& is_given);

/// Returns the provenance of the result: that of the base, with the new sources and options.
Json append_provenance(const BaseGraph& base, const Json& sources, const GraphIngestOptions& options);

}  // namespace plimsoll
