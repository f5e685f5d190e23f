#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "ingest/text/line_reader.h"
#include "memory/vector.h"

namespace plimsoll {

/// The nodes of a text NAME.txt (docs/tu.md), one after the other: the number of graphs, then for each graph
/// a line `nodes label` and for each of its nodes a line `tag degree neighbours... attributes...`. Neighbours
/// count within the graph, from 0. Not thread-safe.
class TuTextReader {
 public:
  /// Errors of all: InputError (what is not as above, with file and line), BudgetExceeded.
  explicit TuTextReader(const std::filesystem::path& path);

  /// Goes on to the next node; false after the last one.
  bool next();

  // Of the present node:
  bool begins_graph() const { return node_ == 0; }
  int32_t graph_label() const { return label_; }
  int32_t tag() const { return tag_; }
  const Vector<int32_t, Tag::ingest>& neighbours() const { return neighbours_; }
  const Vector<float, Tag::ingest>& attributes() const { return attributes_; }

 private:
  bool begin_graph();

  LineReader lines_;
  int64_t graphs_ = 0;
  int64_t graph_ = -1;       // the present one
  int64_t graph_nodes_ = 0;  // of the present graph
  int64_t node_ = 0;         // the present one of these
  int64_t nodes_ = 0;        // so far
  int64_t width_ = -1;       // attributes of a node
  int32_t label_ = 0;
  int32_t tag_ = 0;
  Vector<int32_t, Tag::ingest> neighbours_;
  Vector<float, Tag::ingest> attributes_;
};

}  // namespace plimsoll
