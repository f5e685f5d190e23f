#pragma once

#include <string>

namespace plimsoll {

/// Prints the node and edge types of a typed graph, and a table of their columns. Errors: InputError.
void inspect_typed_graph(const std::string& folder);

}  // namespace plimsoll
