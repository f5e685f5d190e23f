#include "store/row_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.h"
#include "store/data_set.h"

namespace plimsoll {
namespace {

// Number of values that are copied to a buffer before they are widened in place.
constexpr size_t kWidenedAtOnce = 512;

}  // namespace

void RowValues::widen(const std::byte* from, std::span<float> to) const {
  plimsoll::widen(type, from, to);
  if (!scale) return;
  const size_t features = scale->size();
  for (size_t row = 0; row < to.size(); row += features)
    for (size_t f = 0; f < features; ++f) to[row + f] *= (*scale)[f];
}

std::byte* RowValues::packed_in(std::span<float> rows) const {
  return reinterpret_cast<std::byte*>(rows.data() + rows.size()) -
         static_cast<int64_t>(rows.size()) * bytes_of(type);
}

// The packed numbers are at the end of the memory and are widened from its start, so none is overwritten
// before it is copied.
void RowValues::widen_in_place(std::span<float> rows) const {
  if (type == NumberType::f32) return;
  const std::byte* from = packed_in(rows);
  const auto bytes = static_cast<size_t>(bytes_of(type));
  std::array<std::byte, kWidenedAtOnce * sizeof(float)> taken;
  for (size_t first = 0; first < rows.size(); first += kWidenedAtOnce) {
    const auto to = rows.subspan(first, std::min(kWidenedAtOnce, rows.size() - first));
    std::memcpy(taken.data(), from, to.size() * bytes);
    from += to.size() * bytes;
    plimsoll::widen(type, taken.data(), to);
  }
  if (!scale) return;
  for (size_t row = 0; row < rows.size(); row += scale->size())
    for (size_t f = 0; f < scale->size(); ++f) rows[row + f] *= (*scale)[f];
}

RowValues RowValues::of(const DataSetView& set, const std::string& column) {
  const std::string where = fmt::format("{}: column '{}'", set.folder().string(), column);
  const auto found = set.columns().find(column);
  if (found == set.columns().end()) throw InputError(where + " is missing");
  const NpyShape& shape = found->second.shape();
  const std::optional<NumberType> type = npy_number_type(shape.dtype);
  if (!type)
    throw InputError(
        fmt::format("{}: dtype is '{}', expected f32 or a narrower type of numbers", where, shape.dtype));
  if (shape.shape.size() != 2 || shape.shape[1] < 1)
    throw InputError(fmt::format("{} has the shape {}, expected two axes", where, Json(shape.shape).dump()));
  RowValues values{.type = *type, .width = shape.shape[1]};
  if (!set.has_column(scale_column(column))) return values;
  const std::span<const float> scale = set.column<float>(scale_column(column));
  if (*type != NumberType::i8 || std::ssize(scale) != values.width)
    throw InputError(
        fmt::format("{}: column '{}' has {} rows, expected one for each feature of i8; the data "
                    "set is damaged, make it again",
                    set.folder().string(), scale_column(column), scale.size()));
  values.scale = std::make_shared<const Vector<float, Tag::columns>>(scale.begin(), scale.end());
  return values;
}

std::string scale_column(const std::string& column) {
  return column + "_scale";
}

}  // namespace plimsoll
