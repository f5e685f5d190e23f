#include "ingest/tu/tu_features.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace plimsoll {

void TuLabels::add(int32_t label) {
  const auto at = std::lower_bound(values_.begin(), values_.end(), label);
  if (at != values_.end() && *at == label) return;
  if (static_cast<int64_t>(values_.size()) == kMostOneHot)
    throw InputError(
        fmt::format("{}: has more than {} different labels; expected classes, not a number for each "
                    "row; remove the file, or write the numbers as attributes",
                    where_, kMostOneHot));
  values_.insert(at, label);
}

int64_t TuLabels::rank(int32_t label) const {
  return std::lower_bound(values_.begin(), values_.end(), label) - values_.begin();
}

TuFeatures::TuFeatures(std::vector<int64_t> attributes, std::span<const TuLabels> columns)
    : attributes_(std::move(attributes)), width_(static_cast<int64_t>(attributes_.size())) {
  for (const int64_t i : attributes_) names_.push_back(fmt::format("attribute_{}", i));
  for (size_t c = 0; c < columns.size(); ++c) {
    const int32_t least = columns[c].values().front();
    const int32_t most = columns[c].values().back();
    const int64_t places = int64_t{most} - least + 1;
    if (places > kMostOneHot)
      throw InputError(
          fmt::format("{}: column {} of the labels has values from {} to {}, expected a span of at "
                      "most {} to write them one-hot; number them without gaps, or leave them out",
                      columns[c].where(), c + 1, least, most, kMostOneHot));
    columns_.push_back({width_, least});
    width_ += places;
    const std::string column = columns.size() > 1 ? fmt::format("label_{}_", c) : "label_";
    for (int64_t value = least; value <= most; ++value) names_.push_back(fmt::format("{}{}", column, value));
  }
}

void TuFeatures::add(std::span<const int32_t> labels, std::span<const float> attributes, float* out) const {
  for (size_t i = 0; i < attributes_.size(); ++i) out[i] += attributes[static_cast<size_t>(attributes_[i])];
  for (size_t c = 0; c < columns_.size(); ++c) out[columns_[c].first + labels[c] - columns_[c].least] += 1;
}

}  // namespace plimsoll
