#pragma once

#include <functional>
#include <vector>

#include "ingest/graph/edge_list.h"

namespace plimsoll {

/// What parsing some whole lines gave, and where it stopped if it did.
struct ParsedEdges {
  EdgeBatch edges;
  int64_t lines = 0;
  struct Error {
    int64_t line = 0;  ///< within the lines given, from 1
    size_t column = 0;
    std::string found;
    std::string expected;
  };
  std::optional<Error> error = std::nullopt;
};

/// Parses whole lines of a text. `first` is whether they begin with its first line, which its header follows
/// or is. `parsed` is emptied first and keeps its memory.
void parse_edges(std::string_view lines, const EdgeText& text, bool first, size_t values,
                 const IdRules& rules, ParsedEdges& parsed);

/// What a thread takes at most: a piece, and what is parsed of it while it grows.
inline constexpr int64_t kEdgeBytesPerThread = int64_t{4} << 20;

/// Reads texts one after the other, in pieces of 256 KiB, parsed on `threads` threads; `take` is
/// called for each piece in order, with the bytes of files read. Errors: InputError with file, line and
/// column.
void read_edge_texts(const std::vector<EdgeText>& texts, size_t values, const IdRules& rules, int threads,
                     const std::function<void(const EdgeBatch&, int64_t)>& take);

}  // namespace plimsoll
