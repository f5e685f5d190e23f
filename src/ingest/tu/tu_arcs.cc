#include "ingest/tu/tu_arcs.h"

#include <algorithm>

namespace plimsoll {
namespace {

int64_t source_of(uint64_t arc) {
  return static_cast<int64_t>(arc >> 32);
}
int64_t target_of(uint64_t arc) {
  return static_cast<int64_t>(arc & 0xFFFFFFFF);
}

}  // namespace

void TuArcs::reserve(int64_t arcs, int64_t labels, int64_t attributes, const std::string& where) {
  width_labels_ = static_cast<size_t>(labels);
  width_attributes_ = static_cast<size_t>(attributes);
  columns_.assign(width_labels_, TuLabels(where));
  const auto count = static_cast<size_t>(arcs);
  arcs_.reserve(count);
  labels_.reserve(count * width_labels_);
  attributes_.reserve(count * width_attributes_);
}

void TuArcs::add(int64_t source, int64_t target) {
  if (source == target && !has_features()) return;
  arcs_.push_back(static_cast<uint64_t>(source) << 32 | static_cast<uint64_t>(target));
}

void TuArcs::add_labels(std::span<const int32_t> labels) {
  for (size_t c = 0; c < labels.size(); ++c) columns_[c].add(labels[c]);
  labels_.insert(labels_.end(), labels.begin(), labels.end());
}

void TuArcs::add_attributes(std::span<const float> attributes) {
  attributes_.insert(attributes_.end(), attributes.begin(), attributes.end());
}

void TuArcs::sort() {
  if (!has_features()) {
    std::sort(arcs_.begin(), arcs_.end());
    return;
  }
  order_.reserve(arcs_.size());
  for (size_t row = 0; row < arcs_.size(); ++row)
    if (source_of(arcs_[row]) != target_of(arcs_[row])) order_.push_back(static_cast<uint32_t>(row));
  // Rows of one arc stay in the order given, in which their features are added.
  std::sort(order_.begin(), order_.end(),
            [&](uint32_t a, uint32_t b) { return arcs_[a] != arcs_[b] ? arcs_[a] < arcs_[b] : a < b; });
}

void TuArcs::take(int64_t first, int64_t last, const TuFeatures& layout, Vector<int32_t, Tag::ingest>& edges,
                  Vector<float, Tag::ingest>& features) {
  edges.clear();
  features.clear();
  const size_t rows = has_features() ? order_.size() : arcs_.size();
  const auto width = static_cast<size_t>(layout.width());
  for (; next_ < rows; ++next_) {
    const size_t row = has_features() ? order_[next_] : next_;
    const uint64_t arc = arcs_[row];
    if (source_of(arc) >= last) break;
    const auto source = static_cast<int32_t>(source_of(arc) - first);
    const auto target = static_cast<int32_t>(target_of(arc) - first);
    const bool again = !edges.empty() && edges[edges.size() - 2] == source && edges.back() == target;
    if (!again) {
      edges.insert(edges.end(), {source, target});
      features.insert(features.end(), width, 0.0F);
    }
    if (width > 0)
      layout.add(std::span(labels_).subspan(row * width_labels_, width_labels_),
                 std::span(attributes_).subspan(row * width_attributes_, width_attributes_),
                 features.data() + features.size() - width);
  }
}

}  // namespace plimsoll
