#pragma once

#include <string>

namespace plimsoll {

/// Prints the types of a graph with node types, and a table of their columns. Errors: InputError.
void inspect_typed_graph(const std::string& folder);

}  // namespace plimsoll
