#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ingest/tu/tu.h"
#include "ingest/tu/tu_features.h"
#include "ingest/tu/tu_source.h"

namespace plimsoll {

/// What a pass over all nodes learns.
struct TuNodeTable {
  std::vector<TuLabels> columns;  ///< of node labels
  int64_t attributes = 0;

  /// Errors: as TuNodes::next.
  static TuNodeTable scan(const TuSource& source, const TuGraphs& graphs);
};

/// How many arcs of the coalesced `edges` [E, 2] of a graph end at each of its nodes.
void count_in_degrees(std::span<const int32_t> edges, int64_t nodes, Vector<int32_t, Tag::ingest>& degrees);

/// Errors: UsageError unless `positions` names two or three different attributes, or none; InputError for one
/// that there is not.
void require_positions(std::span<const int64_t> positions, const TuNodeTable& table);

/// The row of features of a node, chosen with --node-features, --target and --positions (docs/tu.md).
class TuNodeFeatures {
 public:
  /// `arcs` are run through and rewound if degrees are asked for. Errors: UsageError (words that are not
  /// known or do not go together), InputError (features that the source does not have, or that are too wide).
  TuNodeFeatures(const TuOptions& options, const TuNodeTable& table, const TuSource& source,
                 const TuGraphs& graphs, TuArcs& arcs);

  int64_t width() const { return width_; }
  const std::vector<std::string>& names() const { return names_; }
  bool needs_degrees() const { return degree_; }
  /// Adds a node's features to `out`, width() zeros. `degree` counts only if needs_degrees().
  void add(const TuRow& row, int32_t degree, float* out) const;

 private:
  void add_degrees(const TuSource& source, const TuGraphs& graphs, TuArcs& arcs);

  TuFeatures given_;  // attributes and labels
  bool degree_ = false;
  bool constant_ = false;
  int64_t width_ = 0;
  std::vector<std::string> names_;
};

}  // namespace plimsoll
