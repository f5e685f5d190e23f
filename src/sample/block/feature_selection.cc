#include "sample/block/feature_selection.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace plimsoll {
namespace {

constexpr const char* kIdIndex = "id_index";

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

void require_known_features(const GraphSetTables& tables, const std::vector<std::string>& without) {
  for (const std::string& name : without)
    if (!holds(tables.node_features, name) && !holds(tables.edge_features, name))
      throw UsageError(
          fmt::format("data.without names the unknown feature '{}'; node features: {}; edge features: {}",
                      name, fmt::join(tables.node_features, ", "), fmt::join(tables.edge_features, ", ")));
}

KeptColumns::KeptColumns(std::vector<std::string>& names, int64_t width,
                         const std::vector<std::string>& without)
    : width_(static_cast<size_t>(width)) {
  std::vector<std::string> left;
  for (size_t c = 0; c < width_; ++c) {
    const bool named = c < names.size();  // A set may have features without names.
    const bool id = named && c == 0 && names[c] == kIdIndex;
    const bool hidden = named && holds(without, names[c]);
    if (hidden && id) without_id_ = true;
    if (hidden && !id) continue;
    kept_.push_back(c);
    if (named) left.push_back(names[c]);
  }
  names = std::move(left);
}

FeatureSelection::FeatureSelection(std::unique_ptr<BlockSource> source,
                                   const std::vector<std::string>& without)
    : source_(std::move(source)), tables_(source_->tables()) {
  require_known_features(tables_, without);
  nodes_ = KeptColumns(tables_.node_features, source_->node_features(), without);
  edges_ = KeptColumns(tables_.edge_features, source_->edge_features(), without);
  if (nodes_.count() == 0) throw UsageError("data.without removes all node features; leave at least one");
}

// Works in place: a value is never written to a position that has not been read yet.
void KeptColumns::keep(Vector<float, Tag::blocks>& rows) const {
  if (kept_.size() == width_ && !without_id_) return;
  const size_t count = width_ == 0 ? 0 : rows.size() / width_;
  float* to = rows.data();
  for (size_t row = 0; row < count; ++row) {
    float* const begin = to;
    for (const size_t column : kept_) *to++ = rows[row * width_ + column];
    if (without_id_) *begin = 0;
  }
  rows.resize(count * kept_.size());
}

RowWidths FeatureSelection::widths() const {
  RowWidths widths = source_->widths();
  widths.node_features = nodes_.count();
  widths.edge_features = edges_.count();
  return widths;
}

void FeatureSelection::read(std::span<const int64_t> graphs, GraphBlock& block) const {
  source_->read(graphs, block);
  nodes_.keep(block.x);
  edges_.keep(block.edge_attr);
}

}  // namespace plimsoll
