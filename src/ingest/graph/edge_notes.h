#pragma once

#include <string>
#include <vector>

#include "ingest/graph/edge_list.h"

namespace plimsoll {

/// Adds a sentence if the first lines of a text are read in a way that the user may not expect: a header that
/// names targets before sources, a line of column names that is read as an edge, and, unless `ids_are_given`,
/// numbers that are read as texts.
void note_first_line(const EdgeText& text, const EdgeListOptions& options, bool ids_are_given,
                     std::vector<std::string>& notes);

}  // namespace plimsoll
