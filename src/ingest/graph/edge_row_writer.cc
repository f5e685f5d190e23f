#include "ingest/graph/edge_row_writer.h"

#include <algorithm>

namespace plimsoll {

EdgeRowWriter::EdgeRowWriter(GraphWriter& writer, const EdgeRules& rules, int64_t nodes,
                             const GraphScratch& scratch)
    : writer_(writer),
      rules_(rules),
      nodes_(nodes),
      scratch_(scratch),
      chunk_(std::clamp<size_t>(kNumbers / std::max<size_t>(rules.features, 1), 1, kChunk)),
      loop_(rules.values(), 0.0F) {
  if (rules.weight) loop_[0] = 1;
  indices_.reserve(chunk_);
  ends_.reserve(kChunk);
  weights_.reserve(rules.weight ? chunk_ : 0);
  features_.reserve(rules.features * chunk_);
}

void EdgeRowWriter::add_rows(int64_t row, std::span<const int64_t> ends, int64_t first,
                             std::span<const uint32_t> neighbours, std::span<const float> weights,
                             std::span<const float> features) {
  while (row_ < row) end_row();
  flush_edges();
  writer_.append_indices(neighbours);
  if (rules_.weight) writer_.append_edge_weight(weights);
  if (rules_.features > 0) writer_.append_edge_attr(features, static_cast<int64_t>(rules_.features));
  for (const int64_t end : ends) {
    ends_.push_back(edges_ + end - first);
    scratch_.tick_at(row_);
    ++row_;
    if (ends_.size() == kChunk) flush_rows();
  }
  edges_ += static_cast<int64_t>(neighbours.size());
}

void EdgeRowWriter::finish() {
  while (row_ < nodes_) end_row();
  flush_edges();
  flush_rows();
}

void EdgeRowWriter::end_row() {
  if (rules_.loops == SelfLoops::add && !looped_) put(static_cast<uint32_t>(row_), loop_.data());
  looped_ = false;
  ends_.push_back(edges_);
  scratch_.tick_at(row_);
  ++row_;
  if (ends_.size() == kChunk) flush_rows();
}

void EdgeRowWriter::flush_edges() {
  writer_.append_indices(std::span<const uint32_t>(indices_));
  if (rules_.weight) writer_.append_edge_weight(weights_);
  if (rules_.features > 0) writer_.append_edge_attr(features_, static_cast<int64_t>(rules_.features));
  indices_.clear();
  weights_.clear();
  features_.clear();
}

void EdgeRowWriter::flush_rows() {
  writer_.append_row_ends(ends_);
  ends_.clear();
}

}  // namespace plimsoll
