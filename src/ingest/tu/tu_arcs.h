#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ingest/tu/tu_features.h"
#include "memory/vector.h"

namespace plimsoll {

/// The arcs of all graphs, gathered in any order, then given graph by graph as PyTorch Geometric's TUDataset
/// has them: without self-loops, in the order of source and target, each once; the features of arcs that are
/// given several times are added up. 8 bytes an arc, 12 and its labels and attributes where it has such.
class TuArcs {
 public:
  /// Makes room for `arcs`, at most, with so many labels and attributes each. `where` the labels are from.
  void reserve(int64_t arcs, int64_t labels, int64_t attributes, const std::string& where);
  /// One arc; nodes count over all graphs, from 0. Its features follow in the order of the arcs.
  void add(int64_t source, int64_t target);
  void add_labels(std::span<const int32_t> labels);
  void add_attributes(std::span<const float> attributes);
  /// To be called when all has been added, once.
  void sort();

  /// The values of each column of labels.
  std::span<const TuLabels> columns() const { return columns_; }
  int64_t attributes() const { return static_cast<int64_t>(width_attributes_); }

  /// Replaces `edges` by the arcs whose source is in first .. last-1, counted from `first`, and `features` by
  /// a row for each. Graphs are to be asked for in ascending order; rewind() goes back to the first.
  void take(int64_t first, int64_t last, const TuFeatures& layout, Vector<int32_t, Tag::ingest>& edges,
            Vector<float, Tag::ingest>& features);
  void rewind() { next_ = 0; }

 private:
  bool has_features() const { return width_labels_ + width_attributes_ > 0; }

  Vector<uint64_t, Tag::ingest> arcs_;  // source and target, 32 bits each; sorted where there are no features
  Vector<uint32_t, Tag::ingest> order_;  // of the arcs, without self-loops; empty where there are no features
  Vector<int32_t, Tag::ingest> labels_;
  Vector<float, Tag::ingest> attributes_;
  std::vector<TuLabels> columns_;
  size_t width_labels_ = 0;
  size_t width_attributes_ = 0;
  size_t next_ = 0;
};

}  // namespace plimsoll
