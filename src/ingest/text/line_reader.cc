#include "ingest/text/line_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/shown.h"
#include "ingest/text/characters.h"

namespace plimsoll {
namespace {

constexpr size_t kReadBytes = 64 << 10;
constexpr size_t kMaxLineBytes = 16 << 20;
constexpr double kMaxFloat = std::numeric_limits<float>::max();

// std::from_chars rejects a plus sign, which tables of numbers may have.
std::string_view without_plus(std::string_view field) {
  if (field.size() > 1 && field[0] == '+' && (is_digit(field[1]) || field[1] == '.')) field.remove_prefix(1);
  return field;
}

}  // namespace

LineReader::LineReader(std::unique_ptr<InputStream> stream, std::string name)
    : stream_(std::move(stream)), name_(std::move(name)), buffer_(kReadBytes) {}

bool LineReader::next(std::string_view& line) {
  if (!next_raw(line)) return false;
  if (!trim(line).empty()) return true;
  const int64_t blank = line_;
  while (next_raw(line))
    if (!trim(line).empty())
      throw InputError(fmt::format("{}:{}: found a blank line, expected a row; remove it if none is missing",
                                   name_, blank));
  return false;
}

bool LineReader::next_row(std::string_view& line, Comments comments) {
  while (next_raw(line))
    if (!trim(line).empty() && (comments == Comments::none || !is_comment(line))) return true;
  return false;
}

bool LineReader::next_raw(std::string_view& line) {
  for (;;) {
    const char* const begin = buffer_.data() + at_;
    const size_t held = filled_ - at_;
    const auto* const end = held == 0 ? nullptr : static_cast<const char*>(std::memchr(begin, '\n', held));
    if (end == nullptr && !ended_) {
      fill();
      continue;
    }
    if (end == nullptr && held == 0) return false;
    line = {begin, end == nullptr ? held : static_cast<size_t>(end - begin)};
    at_ += std::min(line.size() + 1, held);
    if (line.ends_with('\r')) line.remove_suffix(1);
    begin_ = begin;
    ++line_;
    return true;
  }
}

void LineReader::fill() {
  std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(at_),
            buffer_.begin() + static_cast<std::ptrdiff_t>(filled_), buffer_.begin());
  filled_ -= at_;
  at_ = 0;
  if (filled_ == buffer_.size()) {
    if (filled_ >= kMaxLineBytes)
      throw InputError(
          fmt::format("{}:{}: found a line of more than {} bytes, expected a row of numbers; "
                      "this is another kind of file",
                      name_, line_ + 1, kMaxLineBytes));
    buffer_.resize(2 * filled_);
  }
  const size_t space = buffer_.size() - filled_;
  const size_t got = stream_->read(buffer_.data() + filled_, space);
  filled_ += got;
  ended_ = got < space;
}

std::string_view LineReader::field(std::string_view& rest, char separator) const {
  try {
    return cut_field(rest, separator);
  } catch (const BadQuote& bad) {
    refuse(bad.found, BadQuote::kExpected);
  }
}

int64_t LineReader::whole(std::string_view field, int64_t min, int64_t max, const char* what) const {
  const std::string_view text = without_plus(field);
  int64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed == std::errc::invalid_argument || end != text.data() + text.size())
    refuse(field, fmt::format("{}, a whole number", what));
  if (failed != std::errc() || value < min || value > max)
    refuse(field, fmt::format("{} from {} to {}", what, min, max));
  return value;
}

float LineReader::real(std::string_view field, const char* what) const {
  const std::string_view text = without_plus(field);
  double value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size() || !(std::abs(value) <= kMaxFloat))
    refuse(field, fmt::format("{}, a finite number of single precision", what));
  return static_cast<float>(value);
}

void LineReader::refuse(std::string_view field, const std::string& expected) const {
  throw InputError(fmt::format("{}:{}:{}: found '{}', expected {}; fix the line or fetch the data again",
                               name_, line_, field.data() == nullptr ? 1 : field.data() - begin_ + 1,
                               shown(field), expected));
}

void LineReader::refuse_end(const std::string& expected) const {
  throw InputError(
      fmt::format("{}: ends after line {}, expected {}; fetch the data again", name_, line_, expected));
}

std::string_view take_comma_field(std::string_view& rest) {
  const size_t comma = rest.find(',');
  const std::string_view field = trim(rest.substr(0, comma));
  rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  return field;
}

}  // namespace plimsoll
