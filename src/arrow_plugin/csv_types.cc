#include "arrow_plugin/csv_types.h"

#include <arrow/util/value_parsing.h>

#include <algorithm>

namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

template <typename Type>
bool parses(std::string_view text, typename Type::c_type& value) {
  return arrow::internal::ParseValue<Type>(text.data(), text.size(), &value);
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_word(std::string_view text) {
  for (const std::string_view word : {"true", "True", "TRUE", "false", "False", "FALSE"})
    if (text == word) return true;
  return false;
}

}  // namespace

void CsvType::See(std::string_view value) {
  if (value.empty()) return;
  any_ = true;
  const std::string_view number = trimmed(value);
  const bool has_plus = number.starts_with('+');  // Arrow reads it in reals only.
  const bool has_sign = has_plus || number.starts_with('-');
  const std::string_view digits = number.substr(has_sign ? 1 : 0);
  const bool is_digits = !digits.empty() && std::ranges::all_of(digits, is_digit);
  const bool is_padded = digits.size() > 1 && digits[0] == '0' && is_digit(digits[1]);
  int64_t whole = 0;
  double real = 0;
  const bool is_whole =
      is_digits && !is_padded && parses<arrow::Int64Type>(has_plus ? digits : number, whole);
  constexpr int64_t kMaxExact = int64_t{1} << 53;  // All whole numbers up to this are doubles.
  const bool is_exact = whole >= -kMaxExact && whole <= kMaxExact;
  whole_ = whole_ && is_whole && !has_plus;
  real_ = real_ && !is_padded && (is_digits ? is_whole && is_exact : parses<arrow::DoubleType>(number, real));
  int32_t day = 0;
  boolean_ = boolean_ && is_word(value);
  date_ = date_ && parses<arrow::Date32Type>(value, day);
  SeeTime(value);
}

void CsvType::SeeTime(std::string_view value) {
  const auto is_time = [&](arrow::TimeUnit::type unit, bool& has_zone) {
    int64_t time = 0;
    return arrow::internal::ParseTimestampISO8601(value.data(), value.size(), unit, &time, &has_zone);
  };
  bool has_zone = false;
  seconds_ = seconds_ && is_time(arrow::TimeUnit::SECOND, has_zone);
  micros_ = micros_ && is_time(arrow::TimeUnit::MICRO, has_zone);
  nanos_ = nanos_ && is_time(arrow::TimeUnit::NANO, has_zone);
  (has_zone ? without_zone_ : with_zone_) = false;
}

std::shared_ptr<arrow::DataType> CsvType::Find() const {
  if (!any_) return arrow::null();
  if (whole_) return arrow::int64();
  if (boolean_) return arrow::boolean();
  if (date_) return arrow::date32();
  if (with_zone_ || without_zone_)
    for (const auto& [fits, unit] :
         {std::pair(seconds_, arrow::TimeUnit::SECOND), std::pair(micros_, arrow::TimeUnit::MICRO),
          std::pair(nanos_, arrow::TimeUnit::NANO)})
      if (fits) return with_zone_ ? arrow::timestamp(unit, "UTC") : arrow::timestamp(unit);
  return real_ ? arrow::float64() : arrow::utf8();
}
