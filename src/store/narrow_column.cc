#include "store/narrow_column.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/hash.h"
#include "store/row_values.h"

namespace plimsoll {
namespace {

constexpr size_t kNumbersAtOnce = 16 * 1024;
constexpr float kMaxI8 = 127;

// Calls take(first number, count) for chunks of whole rows.
template <typename Take>
void each_piece(size_t numbers, int64_t features, const Take& take) {
  const auto width = static_cast<size_t>(features);
  const size_t step = std::max<size_t>(kNumbersAtOnce / width, 1) * width;
  for (size_t first = 0; first < numbers; first += step) take(first, std::min(step, numbers - first));
}

}  // namespace

StoredAs StoredAs::parse(const std::string& word) {
  if (word == "auto") return {.type = std::nullopt};
  const std::optional<NumberType> type = number_type(word);
  if (!type || *type == NumberType::u8)
    throw UsageError(fmt::format("features as '{}': expected auto, f32, f16, bf16 or i8", word));
  return {.type = type};
}

void NarrowColumn::look_at(std::span<const float> values, int64_t features) {
  features_ = features;
  const auto look = [&](bool& survive, NumberType type) {
    if (survive && requested_.type.value_or(type) == type) survive = survives(type, values);
  };
  look(u8_, NumberType::u8);
  look(i8_, NumberType::i8);
  look(f16_, NumberType::f16);
  look(bf16_, NumberType::bf16);
  if (requested_.type != NumberType::i8 || !requested_.scale.empty()) return;
  largest_.resize(static_cast<size_t>(features), 0);
  for (size_t i = 0; i < values.size(); ++i) {
    float& largest = largest_[i % largest_.size()];
    largest = std::max(largest, std::abs(values[i]));
  }
}

std::optional<NumberType> NarrowColumn::chosen() const {
  if (requested_.type) return *requested_.type;
  if (u8_) return NumberType::u8;
  if (i8_) return NumberType::i8;
  if (f16_) return NumberType::f16;
  return bf16_ ? NumberType::bf16 : NumberType::f32;
}

Json NarrowColumn::store(DataSetWriter& set, const std::string& name) {
  const NumberType type = *chosen();
  if (type == NumberType::f32 || features_ == 0) return {};
  RowValues stored{.type = type, .width = features_};
  if (type == NumberType::i8 && (!i8_ || !requested_.scale.empty())) {
    Vector<float, Tag::columns> scale(requested_.scale.begin(), requested_.scale.end());
    if (scale.empty())
      for (const float largest : largest_) scale.push_back(largest / kMaxI8 > 0 ? largest / kMaxI8 : 1);
    set.column<float>(scale_column(name)).append(std::span<const float>(scale));
    stored.scale = std::make_shared<const Vector<float, Tag::columns>>(std::move(scale));
  }

  Hasher given, read;
  float largest_error = requested_.error_before;
  Vector<float, Tag::output> scaled, again;
  Vector<std::byte, Tag::output> bytes;
  set.rewrite(name, npy_dtype(type), {features_}, [&](const NpyView& from, NpyWriter& to) {
    const std::span<const float> values = from.values<float>();
    each_piece(values.size(), features_, [&](size_t first, size_t count) {
      const auto piece = values.subspan(first, count);
      scaled.assign(piece.begin(), piece.end());
      for (size_t i = 0; stored.scale && i < count; ++i)
        scaled[i] /= (*stored.scale)[i % stored.scale->size()];
      bytes.resize(count * static_cast<size_t>(bytes_of(type)));
      again.resize(count);
      round_to(type, scaled, bytes.data());
      stored.widen(bytes.data(), again);
      for (size_t i = 0; i < count; ++i) {
        if (!std::isfinite(again[i]))
          throw InputError(fmt::format("node {}, feature {}: {} does not fit in {}; use bf16 or f32",
                                       (first + i) / static_cast<size_t>(features_),
                                       (first + i) % static_cast<size_t>(features_), piece[i],
                                       name_of(type)));
        largest_error = std::max(largest_error, std::abs(piece[i] - again[i]));
      }
      given.add(piece);
      read.add(std::span<const float>(again));
      to.append(std::span<const std::byte>(bytes));
    });
  });
  const bool exact = given.hex64() == read.hex64() && requested_.error_before == 0;
  Json says = {{"type", name_of(type)}, {"exact", exact}, {"xxh3_f32", read.hex64()}};
  if (!exact) says["largest_error"] = largest_error;
  return says;
}

std::string f32_checksum(const DataSetView& set, const std::string& name) {
  const RowValues stored = RowValues::of(set, name);
  const std::span<const std::byte> bytes = set.columns().at(name).data();
  const auto item = static_cast<size_t>(bytes_of(stored.type));
  Hasher hasher;
  Vector<float, Tag::columns> wide;
  each_piece(bytes.size() / item, stored.width, [&](size_t first, size_t count) {
    wide.resize(count);
    stored.widen(bytes.data() + first * item, wide);
    hasher.add(std::span<const float>(wide));
  });
  return hasher.hex64();
}

}  // namespace plimsoll
