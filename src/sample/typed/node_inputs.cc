#include "sample/typed/node_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/words.h"

namespace plimsoll {

// Meanings of stored columns, and units of times (docs/formats/graph.md).
enum class StoredMeaning : uint8_t { number, boolean, category, multi_category, time, vector };
template <>
inline constexpr auto kWords<StoredMeaning> =
    std::to_array<std::string_view>({"number", "boolean", "category", "multi-category", "time", "vector"});

enum class StoredUnit : uint8_t { days, seconds, milliseconds, microseconds, nanoseconds };
template <>
inline constexpr auto kWords<StoredUnit> = std::to_array<std::string_view>({"D", "s", "ms", "us", "ns"});

namespace {

constexpr double kSecondsPerDay = 86400;
constexpr double kNanosecondsPerDay = kSecondsPerDay * 1e9;
constexpr int64_t kNoTime = std::numeric_limits<int64_t>::min();

// Number of codes of each part of the calendar, with code 0 for no time.
constexpr std::array<int64_t, 3> kCalendarCodes = {1 + 24, 1 + 7, 1 + 12};

double units_per_day(const std::string& unit) {
  constexpr std::array<double, 5> kPerDay = {1, kSecondsPerDay, kSecondsPerDay * 1e3, kSecondsPerDay * 1e6,
                                             kNanosecondsPerDay};
  const std::optional<StoredUnit> found = find_word<StoredUnit>(unit);
  if (!found) throw InputError(fmt::format("found the time unit '{}', expected D, s, ms, us or ns", unit));
  return kPerDay[static_cast<size_t>(*found)];
}

// Returns hour, weekday and month, each counted from 1, of a time in days since 1970-01-01.
std::array<int32_t, 3> calendar_of(double days) {
  using namespace std::chrono;
  const double day = std::floor(days);
  // The addition corrects a time that was rounded down to just before a full hour.
  const double hour = std::min(std::floor((days - day) * 24 + 1e-7), 23.0);
  const sys_days date{std::chrono::days(static_cast<int64_t>(day))};
  return {1 + static_cast<int32_t>(hour), 1 + static_cast<int32_t>(weekday(date).c_encoding()),
          static_cast<int32_t>(static_cast<unsigned>(year_month_day(date).month()))};
}

float* write_time(double days, float* to) {
  double frequency = 1;
  static const double kNext = std::pow(10000.0, -1.0 / kTimeWaves);
  for (int64_t wave = 0; wave < kTimeWaves; ++wave, frequency *= kNext) {
    *to++ = static_cast<float>(std::sin(days * frequency));
    *to++ = static_cast<float>(std::cos(days * frequency));
  }
  *to++ = static_cast<float>(std::copysign(std::log1p(std::abs(days)), days));
  return to;
}

}  // namespace

NodeInputs::NodeInputs(const DataSetView& set, const Json& type, std::span<const int64_t> time,
                       const Options& options)
    : nodes_(type.at("nodes")), time_(time), cut_(options.cut) {
  if (!time.empty()) add_time(set, type.at("time").at("column"), "ns");
  for (const Json& column : type.at("columns")) {
    const std::string name = column.at("name");
    if (std::ranges::find(options.hidden, name) != options.hidden.end())
      left_out_.push_back(fmt::format("{}.{}: hidden by the task", std::string(type.at("name")), name));
    else
      add(set, column);
  }
  for (const Number& number : number_columns_) numbers_ += number.width + (number.has_indicator ? 1 : 0);
  for (const MultiCategory& list : lists_) numbers_ += list.numbers();
  for (const Time& column : times_) numbers_ += kTimeNumbers + (column.has_indicator ? 1 : 0);
  is_constant_ = numbers_ == 0;
  if (is_constant_) numbers_ = 1;
}

void NodeInputs::add(const DataSetView& set, const Json& column) {
  const std::string meaning = column.at("meaning");
  const std::optional<StoredMeaning> found = find_word<StoredMeaning>(meaning);
  if (!found) {
    left_out_.push_back(fmt::format("{}: models do not read columns with the meaning {}",
                                    std::string(column.at("column")), meaning));
    return;
  }
  if (*found == StoredMeaning::time) return add_time(set, column.at("column"), column.at("unit"));
  if (*found == StoredMeaning::multi_category) return add_list(set, column);
  NumberColumn stored(set, column.at("column"), column.value("valid", std::string()));
  if (*found == StoredMeaning::category) {
    const NumberColumn vocabulary(set, column.at("vocabulary_ptr"), "");
    Category category{column.at("column"), std::move(stored), {}};
    category.code.resize(static_cast<size_t>(std::max<int64_t>(vocabulary.size() - 1, 0)), 0);
    learn(category);
    categories_.push_back(std::move(category));
    return;
  }
  const int64_t width = nodes_ == 0 ? 1 : stored.size() / nodes_;
  Number number{std::move(stored), width, /*has_indicator=*/false, {}, {}};
  learn(number, column.at("column"));
  number_columns_.push_back(std::move(number));
}

void NodeInputs::add_list(const DataSetView& set, const Json& column) {
  MultiCategory list(set, column, nodes_);
  each_known([&](int64_t node) { list.add_known(node); });
  list.choose_values();
  if (list.values() < list.known_values())
    left_out_.push_back(
        fmt::format("{}: {} of {} values, which are counted together; the {} most frequent are read",
                    std::string(column.at("column")), list.known_values() - list.values(),
                    list.known_values(), list.values()));
  lists_.push_back(std::move(list));
}

void NodeInputs::add_time(const DataSetView& set, const std::string& column, const std::string& unit) {
  Time time{NumberColumn(set, column, ""), units_per_day(unit), /*has_indicator=*/false};
  each_known([&](int64_t node) { time.has_indicator |= time.column.whole(node) == kNoTime; });
  times_.push_back(std::move(time));
}

// Calls use(node) for each node that is known at the training cut.
template <typename Use>
void NodeInputs::each_known(const Use& use) const {
  for (int64_t node = 0; node < nodes_; ++node)
    if (time_.empty() || time_[static_cast<size_t>(node)] <= cut_) use(node);
}

// Computes mean and deviation in two passes in double precision. The second pass sums the squares of
// differences from the mean, because these stay small.
void NodeInputs::learn(Number& number, const std::string& name) const {
  constexpr double kRounding =
      1e-12;  // A deviation below this share of the mean is a rounding error, so the column is constant.
  for (int64_t i = 0; i < number.width; ++i) {
    double sum = 0, squares = 0;
    int64_t count = 0;
    const auto each_value = [&](const auto& use) {
      each_known([&](int64_t node) {
        const double value = number.column.at(node * number.width + i);
        if (!std::isnan(value))
          use(value);
        else
          number.has_indicator = true;
      });
    };
    each_value([&](double value) {
      sum += value;
      ++count;
    });
    const double mean = count > 0 ? sum / static_cast<double>(count) : 0;
    each_value([&](double value) { squares += (value - mean) * (value - mean); });
    const double deviation = count > 0 ? std::sqrt(squares / static_cast<double>(count)) : 0;
    if (!std::isfinite(deviation))
      throw InputError(
          fmt::format("{}: found values that are too large to standardise; leave the column out with "
                      "`plimsoll ingest tables --meaning TABLE.COLUMN=skip`",
                      name));
    number.mean.push_back(mean);
    number.deviation.push_back(deviation > kRounding * std::abs(mean) ? deviation : 1);
  }
}

int64_t NodeInputs::Category::value_of(int64_t node) const {
  const int64_t value = column.whole(node);
  if (value < std::ssize(code)) return value;
  throw InputError(
      fmt::format("column '{}', node {}: found the code {}, expected one below {}; run `plimsoll verify`",
                  name, node, value, code.size()));
}

void NodeInputs::learn(Category& category) const {
  each_known([&](int64_t node) {
    const int64_t value = category.value_of(node);
    if (value >= 0) category.code[static_cast<size_t>(value)] = 1;
  });
  for (int32_t& code : category.code)
    if (code != 0) code = static_cast<int32_t>(category.codes++);
}

std::vector<int64_t> NodeInputs::vocabularies() const {
  std::vector<int64_t> sizes;
  for (const Category& category : categories_) sizes.push_back(category.codes);
  for (size_t i = 0; i < times_.size(); ++i)
    sizes.insert(sizes.end(), kCalendarCodes.begin(), kCalendarCodes.end());
  return sizes;
}

void NodeInputs::write(int64_t node, int64_t seed_time, float* numbers, int32_t* codes,
                       int64_t stride) const {
  if (is_constant_) *numbers = 1;
  for (const Number& number : number_columns_) {
    bool missing = false;
    for (int64_t i = 0; i < number.width; ++i) {
      const auto at = static_cast<size_t>(i);
      const double value = number.column.at(node * number.width + i);
      missing = missing || std::isnan(value);
      *numbers++ =
          std::isnan(value) ? 0 : static_cast<float>((value - number.mean[at]) / number.deviation[at]);
    }
    if (number.has_indicator) *numbers++ = missing ? 1 : 0;
  }
  for (const MultiCategory& list : lists_) numbers = list.write(node, numbers);
  for (const Category& category : categories_) {
    const int64_t value = category.value_of(node);
    *codes = value < 0 ? 0 : category.code[static_cast<size_t>(value)];
    codes += stride;
  }
  const double now = static_cast<double>(seed_time) / kNanosecondsPerDay;
  for (const Time& column : times_) {
    const int64_t time = column.column.whole(node);
    std::array<int32_t, 3> calendar = {0, 0, 0};
    if (time == kNoTime) {
      numbers = std::fill_n(numbers, kTimeNumbers, 0.0F);
    } else {
      const double days = static_cast<double>(time) / column.per_day;
      numbers = write_time(now - days, numbers);
      calendar = calendar_of(days);
    }
    if (column.has_indicator) *numbers++ = time == kNoTime ? 1 : 0;
    for (const int32_t part : calendar) {
      *codes = part;
      codes += stride;
    }
  }
}

}  // namespace plimsoll
