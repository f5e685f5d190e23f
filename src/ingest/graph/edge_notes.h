#pragma once

#include <string>
#include <vector>

#include "ingest/graph/edge_list.h"

namespace plimsoll {

/// Adds a sentence if the first lines of a text are read in a way that its owner may not expect: a header
/// that names targets before sources, a line with the name of a column that is read as an edge, and, unless
/// `ids_are_given`, numbers that become texts.
void note_first_line(const EdgeText& text, const EdgeListOptions& options, bool ids_are_given,
                     std::vector<std::string>& notes);

}  // namespace plimsoll
