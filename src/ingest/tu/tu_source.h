#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "base/json.h"
#include "ingest/tu/tu_arcs.h"
#include "ingest/tu/tu_features.h"
#include "memory/vector.h"

namespace plimsoll {

/// The nodes of each graph, its label and its attributes. G graphs.
struct TuGraphs {
  Vector<int64_t, Tag::ingest> node_ptr;       ///< [G+1]
  Vector<int32_t, Tag::ingest> label;          ///< [G] as the source has it; empty: it has none
  Vector<float, Tag::ingest> attributes = {};  ///< [G, A]

  int64_t graphs() const { return static_cast<int64_t>(node_ptr.size()) - 1; }
  /// A: attributes of one.
  int64_t width() const { return static_cast<int64_t>(attributes.size()) / std::max<int64_t>(graphs(), 1); }
  int64_t nodes() const { return node_ptr.back(); }
};

/// What a source says of the nodes, one after the other.
class TuNodes {
 public:
  virtual ~TuNodes() = default;
  /// Replaces `row` by that of the next node. To be called once a node, and no more. Every row has as many
  /// labels and attributes as the first. Errors: InputError, also for a row too few; with the last node's
  /// also for a row too many.
  virtual void next(TuRow& row) = 0;
};

/// A data set for graph classification in one of the forms of docs/tu.md. It holds next to nothing itself:
/// each member reads what it needs. Not thread-safe. Errors of all: InputError with file and line,
/// BudgetExceeded.
class TuSource {
 public:
  virtual ~TuSource() = default;

  virtual TuGraphs graphs() const = 0;
  virtual TuArcs arcs(const TuGraphs& graphs) const = 0;
  virtual std::unique_ptr<TuNodes> nodes(const TuGraphs& graphs) const = 0;

  /// Where node labels and edge features are from, for error texts.
  virtual std::string path() const = 0;
  /// [{"source", "bytes", "hash"}] of what is read; reads it whole.
  virtual Json sources() const = 0;
  virtual int64_t bytes() const = 0;

  /// A folder, a zip archive (told by its name or first bytes) or a text NAME.txt. Errors: InputError.
  static std::unique_ptr<TuSource> open(const std::filesystem::path& path);
};

/// The kinds of source that open() chooses from.
std::unique_ptr<TuSource> open_tu_tables(const std::filesystem::path& path, bool zip);
std::unique_ptr<TuSource> open_tu_text(const std::filesystem::path& path);

}  // namespace plimsoll
