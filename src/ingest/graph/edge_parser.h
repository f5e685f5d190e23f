#pragma once

#include <functional>
#include <vector>

#include "ingest/graph/edge_list.h"

namespace plimsoll {

/// The result of parsing some whole lines: the edges, and the first error, if any.
struct ParsedEdges {
  EdgeBatch edges;
  int64_t lines = 0;  ///< Number of parsed lines, including empty lines and comments.
  int64_t rows = 0;   ///< Number of lines with an edge.
  struct Error {
    int64_t line = 0;   ///< Line number within the given lines, from 1.
    size_t column = 0;  ///< First byte of the field within the line, from 1.
    std::string found;
    std::string expected;
    bool is_padded = false;  ///< Whether the error is a PaddedId.
  };
  std::optional<Error> error = std::nullopt;
};

/// Parses whole lines of a text. If `first` is true, no row of the text comes before these lines, so they may
/// begin with comments and the header. `values` is the number of values per edge. `parsed` is cleared first;
/// its memory is reused. Parsing stops at the first invalid line, which is described in parsed.error.
void parse_edges(std::string_view lines, const EdgeText& text, bool first, size_t values,
                 const IdRules& rules, ParsedEdges& parsed);

/// Maximum bytes that a thread needs: a chunk, and its edges, which grow while the chunk is parsed.
inline constexpr int64_t kEdgeBytesPerThread = int64_t{4} << 20;

/// Reads texts in order, in chunks of 256 KiB, which are parsed on up to `threads` threads (fewer if the
/// ledger has no memory for them). `values` is the number of values per edge. `take` is called for each chunk
/// in order, one call at a time, on any of the threads, with its edges and the number of file bytes read so
/// far. Errors: InputError, with line and column for an invalid field, also for a line of more than 256 KiB
/// and for MatrixMarket with another number of entries than stated; PaddedId if `rules` refuse IDs with
/// leading zeros; Failure; BudgetExceeded; those of `take`.
void read_edge_texts(const std::vector<EdgeText>& texts, size_t values, const IdRules& rules, int threads,
                     const std::function<void(const EdgeBatch&, int64_t)>& take);

}  // namespace plimsoll
