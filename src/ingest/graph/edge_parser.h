#pragma once

#include <functional>
#include <vector>

#include "ingest/graph/edge_list.h"

namespace plimsoll {

/// Result of parsing some whole lines: the edges, and the first error if there is one.
struct ParsedEdges {
  EdgeBatch edges;
  int64_t lines = 0;
  int64_t rows = 0;  ///< Lines with an edge.
  struct Error {
    int64_t line = 0;  ///< Line number within the given lines, from 1.
    size_t column = 0;
    std::string found;
    std::string expected;
    bool is_padded = false;  ///< Whether it is a PaddedId.
  };
  std::optional<Error> error = std::nullopt;
};

/// Parses whole lines of a text. `first` says whether no row of the text comes before them, so that they may
/// begin with comments and the header. `parsed` is emptied first; its memory is reused.
void parse_edges(std::string_view lines, const EdgeText& text, bool first, size_t values,
                 const IdRules& rules, ParsedEdges& parsed);

/// Maximum bytes per thread: a chunk, and its edges, which grow while it is parsed.
inline constexpr int64_t kEdgeBytesPerThread = int64_t{4} << 20;

/// Reads texts in order, in chunks of 256 KiB, parsed on `threads` threads. `take` is called for each chunk
/// in order, with the number of file bytes read. Errors: InputError with file, line and column.
void read_edge_texts(const std::vector<EdgeText>& texts, size_t values, const IdRules& rules, int threads,
                     const std::function<void(const EdgeBatch&, int64_t)>& take);

}  // namespace plimsoll
