#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "ingest/tables/column_files.h"
#include "ingest/tables/distinct_values.h"
#include "ingest/tables/sinks.h"

namespace plimsoll {
namespace {

constexpr int64_t kNoTime = std::numeric_limits<int64_t>::min();  // NumPy's NaT.

Json count_json(const DistinctValues& distinct) {
  const std::optional<int64_t> count = distinct.count();
  return count ? Json(*count) : Json();
}

// Whole numbers, booleans and times.
class IntegerSink final : public ColumnSink {
 public:
  IntegerSink(ColumnFiles files, WholeMeaning meaning, std::string unit)
      : files_(std::move(files)),
        meaning_(meaning),
        unit_(std::move(unit)),
        missing_value_(unit_.empty() ? 0 : kNoTime),
        writer_(files_.set().column<int64_t>(files_.file("values"))) {}

  void add(const Values& values) override {
    const std::span<const uint8_t> valid(values.valid.data(), values.rows);
    files_.add_validity(valid);
    whole_.resize(values.rows);
    for (size_t row = 0; row < values.rows; ++row) {
      whole_[row] = valid[row] != 0 ? values.integers[row] : missing_value_;
      if (valid[row] == 0) continue;
      min_ = std::min(min_, whole_[row]);
      max_ = std::max(max_, whole_[row]);
      distinct_.add(static_cast<uint64_t>(whole_[row]));
    }
    writer_.append(std::span<const int64_t>(whole_));
  }

  Json finish() override {
    const bool any = files_.rows() > files_.missing();
    const std::string name = files_.file("values");
    const auto same = [](int64_t value) { return value; };
    if (meaning_ == WholeMeaning::boolean)
      store_as<int64_t, uint8_t>(files_.set(), name, {}, same);
    else if (unit_.empty())
      store_whole<int64_t>(files_.set(), name, any ? std::min<int64_t>(min_, 0) : 0, any ? max_ : 0, same);
    files_.set().finish(name);
    Json entry = files_.finish(word_of(meaning_));
    if (!unit_.empty()) entry["unit"] = unit_;
    entry["distinct"] = count_json(distinct_);
    if (any) entry.update({{"min", min_}, {"max", max_}});
    return entry;
  }

 private:
  ColumnFiles files_;
  WholeMeaning meaning_;
  std::string unit_;
  int64_t missing_value_;
  NpyWriter& writer_;
  Vector<int64_t, Tag::ingest> whole_;
  DistinctValues distinct_;
  int64_t min_ = std::numeric_limits<int64_t>::max();
  int64_t max_ = std::numeric_limits<int64_t>::min();
};

// Reals, and vectors of `width` reals.
class RealSink final : public ColumnSink {
 public:
  RealSink(ColumnFiles files, const char* meaning, std::vector<int64_t> row)
      : files_(std::move(files)),
        meaning_(meaning),
        row_(std::move(row)),
        width_(row_.empty() ? 1 : static_cast<size_t>(row_[0])),
        writer_(files_.set().column<double>(files_.file("values"), row_)) {}

  void add(const Values& values) override {
    const std::span<const uint8_t> valid(values.valid.data(), values.rows);
    files_.add_validity(valid);
    reals_.assign(values.reals.begin(),
                  values.reals.begin() + static_cast<std::ptrdiff_t>(values.rows * width_));
    for (size_t row = 0; row < values.rows; ++row)
      for (size_t at = row * width_; at < (row + 1) * width_; ++at) {
        if (valid[row] == 0) {
          reals_[at] = std::numeric_limits<double>::quiet_NaN();
          continue;
        }
        const double value = reals_[at];
        survives_ =
            survives_ && (std::isnan(value) || static_cast<double>(static_cast<float>(value)) == value);
        min_ = std::min(min_, value);
        max_ = std::max(max_, value);
        if (row_.empty()) distinct_.add(std::bit_cast<uint64_t>(value == 0 ? 0.0 : value));
      }
    writer_.append(std::span<const double>(reals_));
  }

  Json finish() override {
    const std::string name = files_.file("values");
    if (survives_) store_as<double, float>(files_.set(), name, row_, [](double value) { return value; });
    files_.set().finish(name);
    Json entry = files_.finish(meaning_);
    if (row_.empty()) entry["distinct"] = count_json(distinct_);
    if (min_ <= max_ && std::isfinite(min_) && std::isfinite(max_))
      entry.update({{"min", min_}, {"max", max_}});
    return entry;
  }

 private:
  ColumnFiles files_;
  const char* meaning_;
  std::vector<int64_t> row_;
  size_t width_;
  NpyWriter& writer_;
  Vector<double, Tag::ingest> reals_;
  DistinctValues distinct_;
  bool survives_ = true;
  double min_ = std::numeric_limits<double>::infinity();
  double max_ = -std::numeric_limits<double>::infinity();
};

}  // namespace

std::unique_ptr<ColumnSink> make_integer_sink(ColumnFiles files, WholeMeaning meaning,
                                              const std::string& unit) {
  return std::make_unique<IntegerSink>(std::move(files), meaning, unit);
}

std::unique_ptr<ColumnSink> make_real_sink(ColumnFiles files, const char* meaning,
                                           const std::vector<int64_t>& row) {
  return std::make_unique<RealSink>(std::move(files), meaning, row);
}

}  // namespace plimsoll
