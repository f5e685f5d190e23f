#include "sample/typed/label_vectors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/number_text.h"
#include "base/words.h"
#include "sample/typed/target_vocabulary.h"

namespace plimsoll {

/// How several labels are stored, by the meaning of their column.
enum class LabelForm : uint8_t { vectors, lists };
template <>
inline constexpr auto kWords<LabelForm> = std::to_array<std::string_view>({"vector", "multi-category"});

LabelVectors::LabelVectors(const DataSetView& set, const Json& target, int64_t seeds, std::string place)
    : place_(std::move(place)),
      seeds_(seeds),
      values_(set, target.at("column"), target.contains("ptr") ? "" : target.value("valid", "")) {
  const std::string meaning = target.at("meaning");
  const std::optional<LabelForm> form = find_word<LabelForm>(meaning);
  if (form == LabelForm::lists) read_lists(set, target);
  if (!form)
    throw InputError(
        fmt::format("{}: found labels with the meaning {}, expected lists of 0 and 1", place_, meaning));
}

void LabelVectors::read_lists(const DataSetView& set, const Json& target) {
  ptr_ = set.column<int64_t>(target.at("ptr"));
  if (std::ssize(ptr_) != seeds_ + 1)
    throw InputError(place_ + ": its lists are not those of its seeds; ingest the tables again");
  for (const std::string_view text : target_vocabulary(set, target, place_)) {
    const std::optional<int64_t> label = parse_number<int64_t>(text);
    if (label != 0 && label != 1)
      throw InputError(
          fmt::format("{}: found the label '{}', expected in each row a list with a 0 or 1 for every label",
                      place_, text));
    of_code_.push_back(static_cast<double>(*label));
  }
}

int64_t LabelVectors::width(int64_t row) const {
  if (ptr_.empty()) {
    const int64_t width = values_.size() / seeds_;
    return values_.is_missing(row * width) ? 0 : width;
  }
  const int64_t first = ptr_[static_cast<size_t>(row)], end = ptr_[static_cast<size_t>(row) + 1];
  if (first < 0 || end < first || end > values_.size())
    throw InputError(fmt::format("{}: row {}: found the list {} .. {} of {} labels; ingest the tables again",
                                 place_, row, first, end, values_.size()));
  return end - first;
}

double LabelVectors::label(int64_t row, int64_t place) const {
  if (ptr_.empty()) return values_.at(row * (values_.size() / seeds_) + place);
  const int64_t code = values_.whole(ptr_[static_cast<size_t>(row)] + place);
  if (code >= std::ssize(of_code_))
    throw InputError(fmt::format("{}: row {}: found the code {} of {}; ingest the tables again", place_, row,
                                 code, of_code_.size()));
  return code < 0 ? std::numeric_limits<double>::quiet_NaN() : of_code_[static_cast<size_t>(code)];
}

void LabelVectors::write(int64_t row, std::span<float> labels) const {
  const int64_t found = width(row);
  if (found != 0 && found != std::ssize(labels))
    throw InputError(
        fmt::format("{}: row {} has {} labels, but the first row of the split train has {}; expected a 0 or "
                    "1 for each label",
                    place_, row, found, labels.size()));
  std::ranges::fill(labels, std::numeric_limits<float>::quiet_NaN());
  for (int64_t place = 0; place < found; ++place) {
    const double value = label(row, place);
    if (!std::isnan(value) && value != 0 && value != 1)
      throw InputError(fmt::format("{}: row {} has the label {}, expected 0 or 1", place_, row, value));
    labels[static_cast<size_t>(place)] = static_cast<float>(value);
  }
}

}  // namespace plimsoll
