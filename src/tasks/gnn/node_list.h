#pragma once

#include <filesystem>
#include <string>

#include "memory/vector.h"
#include "store/graph.h"

namespace plimsoll {

/// Returns the name of a node of a giant graph in its source, or its ID if it has no name. Errors: InputError
/// if the names are damaged.
std::string name_of_node(const GraphView& graph, int64_t node);

/// Reads nodes from a text with one node per line: its name or ID in the source, as name_of_node() returns
/// it. A file whose name ends in .gz or .zst is decompressed. Empty lines are skipped. Returns the index of
/// each node in the graph, in the order of the lines; a node may occur several times. Errors: InputError,
/// with the line, for a node that the graph does not have, and for a file without nodes; those of
/// InputStream; BudgetExceeded.
Vector<int64_t, Tag::columns> read_node_list(const std::filesystem::path& file, const GraphView& graph);

}  // namespace plimsoll
