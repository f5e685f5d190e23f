#include "sample/feature_selection.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace plimsoll {
namespace {

constexpr const char* kIdIndex = "id_index";

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

void require_known(const GraphSetTables& tables, const std::vector<std::string>& without) {
  for (const std::string& name : without)
    if (!holds(tables.node_features, name) && !holds(tables.edge_features, name))
      throw UsageError(
          fmt::format("data.without names the feature '{}'; there are, of nodes: {}; of edges: {}", name,
                      fmt::join(tables.node_features, ", "), fmt::join(tables.edge_features, ", ")));
}

}  // namespace

// Leaves in `names` those of the columns that stay.
FeatureSelection::Columns FeatureSelection::columns(std::vector<std::string>& names, int64_t width,
                                                    const std::vector<std::string>& without) {
  Columns columns{static_cast<size_t>(width)};
  std::vector<std::string> kept;
  for (size_t c = 0; c < columns.width; ++c) {
    const bool named = c < names.size();  // a set need not name its features
    const bool id = named && c == 0 && names[c] == kIdIndex;
    const bool hidden = named && holds(without, names[c]);
    if (hidden && id) columns.without_id = true;
    if (hidden && !id) continue;
    columns.kept.push_back(c);
    if (named) kept.push_back(names[c]);
  }
  names = std::move(kept);
  return columns;
}

FeatureSelection::FeatureSelection(std::unique_ptr<BlockSource> source,
                                   const std::vector<std::string>& without)
    : source_(std::move(source)), tables_(source_->tables()) {
  require_known(tables_, without);
  nodes_ = columns(tables_.node_features, source_->node_features(), without);
  edges_ = columns(tables_.edge_features, source_->edge_features(), without);
  if (nodes_.kept.empty()) throw UsageError("data.without hides all features of nodes; leave at least one");
}

// In place: a value never moves behind one that is still to be read.
void FeatureSelection::Columns::keep(Vector<float, Tag::blocks>& rows) const {
  if (kept.size() == width && !without_id) return;
  const size_t count = width == 0 ? 0 : rows.size() / width;
  float* to = rows.data();
  for (size_t row = 0; row < count; ++row) {
    float* const begin = to;
    for (const size_t column : kept) *to++ = rows[row * width + column];
    if (without_id) *begin = 0;
  }
  rows.resize(count * kept.size());
}

void FeatureSelection::read(std::span<const int64_t> graphs, GraphBlock& block) const {
  source_->read(graphs, block);
  nodes_.keep(block.x);
  edges_.keep(block.edge_attr);
}

}  // namespace plimsoll
