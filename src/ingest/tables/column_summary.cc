#include "ingest/tables/column_summary.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

#include "ingest/tables/distinct_values.h"
#include "io/npy.h"

namespace plimsoll {
namespace {

uint64_t bits_of(int64_t value) {
  return static_cast<uint64_t>(value);
}

uint64_t bits_of(double value) {
  return std::bit_cast<uint64_t>(value == 0 ? 0.0 : value);
}

// Summarizes the values of a column, without missing ones. `valid` is empty if all rows have a value.
template <typename T>
void summarize_as(Json& column, const NpyView& file, std::span<const uint8_t> valid) {
  using Wide = std::conditional_t<std::is_floating_point_v<T>, double, int64_t>;
  using Limits = std::numeric_limits<Wide>;
  const std::span<const T> values = file.values<T>();
  const size_t width = valid.empty() ? 1 : values.size() / valid.size();
  Wide min = Limits::has_infinity ? Limits::infinity() : Limits::max();
  Wide max = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  DistinctValues distinct;
  for (size_t at = 0; at < values.size(); ++at) {
    if (!valid.empty() && valid[at / width] == 0) continue;
    const Wide value = values[at];
    min = std::min(min, value);
    max = std::max(max, value);
    if (column.contains("distinct")) distinct.add(bits_of(value));
  }
  const std::optional<int64_t> count = distinct.count();
  if (column.contains("distinct")) column["distinct"] = count ? Json(*count) : Json();
  column.erase("min");
  column.erase("max");
  if (min > max || !std::isfinite(static_cast<double>(min)) || !std::isfinite(static_cast<double>(max)))
    return;
  column.update({{"min", min}, {"max", max}});
}

}  // namespace

void summarize_again(Json& column, const std::filesystem::path& folder) {
  if (column.contains("vocabulary")) return;
  const auto path = [&](const char* key) { return folder / (column[key].get<std::string>() + ".npy"); };
  const NpyView file(path("column"));
  std::optional<NpyView> mask;
  if (column.contains("valid")) mask.emplace(path("valid"));
  const std::span<const uint8_t> valid = mask ? mask->values<uint8_t>() : std::span<const uint8_t>();
  const std::string& dtype = file.shape().dtype;
  if (dtype == npy_dtype<int8_t>()) return summarize_as<int8_t>(column, file, valid);
  if (dtype == npy_dtype<int16_t>()) return summarize_as<int16_t>(column, file, valid);
  if (dtype == npy_dtype<int32_t>()) return summarize_as<int32_t>(column, file, valid);
  if (dtype == npy_dtype<int64_t>()) return summarize_as<int64_t>(column, file, valid);
  if (dtype == npy_dtype<uint8_t>()) return summarize_as<uint8_t>(column, file, valid);
  if (dtype == npy_dtype<float>()) return summarize_as<float>(column, file, valid);
  summarize_as<double>(column, file, valid);
}

}  // namespace plimsoll
