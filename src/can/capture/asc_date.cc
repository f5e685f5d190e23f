#include "can/capture/asc_date.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>

#include "can/capture/fields.h"

namespace plimsoll {
namespace {

// The names of each month without accents. A name may be cut short after three letters.
constexpr std::array<std::string_view, 12> kMonths = {
    "january januar janner jaenner janvier enero gennaio janeiro",
    "february februar feber fevrier febrero febbraio fevereiro",
    "march marz maerz mrz mars marzo marco",
    "april avril abril aprile",
    "may mai mayo maggio maio",
    "june juni juin junio giugno junho",
    "july juli juillet julio luglio julho",
    "august aout agosto",
    "september septembre septiembre setiembre settembre setembro",
    "october oktober octobre octubre ottobre outubro",
    "november novembre noviembre novembro",
    "december dezember decembre diciembre dicembre dezembro"};

// The letters of Latin-1 from 0xC0 on, without their accents.
constexpr std::string_view kLatin = "aaaaaaaceeeeiiiidnooooo*ouuuuytsaaaaaaaceeeeiiiidnooooo/ouuuuyty";

// Converts a word in UTF-8 or cp1252 to lower case without accents, points and commas.
std::string fold(std::string_view word) {
  std::string folded;
  for (size_t i = 0; i < word.size(); ++i) {
    auto c = static_cast<unsigned char>(word[i]);
    const unsigned char next = i + 1 < word.size() ? static_cast<unsigned char>(word[i + 1]) : 0;
    if (next >= 0x80 && next < 0xC0 && (c == 0xCC || c == 0xCD)) {  // A combining accent after its letter.
      ++i;
      continue;
    }
    if (c == 0xE2 && next == 0x80) {  // A narrow blank.
      i += 2;
      continue;
    }
    const bool is_utf8 = (c == 0xC2 || c == 0xC3) && next >= 0x80 && next < 0xC0;
    if (is_utf8) {
      c = static_cast<unsigned char>(c == 0xC3 ? next + 0x40 : next);
      ++i;
    }
    if (c >= 0xC0)
      folded += kLatin[c - 0xC0U];
    else if (c < 0x80 && c != '.' && c != ',')
      folded += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  }
  return folded;
}

bool has_name(std::string_view names, std::string_view word) {
  while (!names.empty()) {
    if (take_word(names).starts_with(word)) return true;
  }
  return false;
}

// The month of a word, from 1; 0 if it is not a month, or if two months start with it, as with "jui".
unsigned month_of(std::string_view word) {
  if (word.size() < 3) return 0;
  unsigned month = 0;
  for (size_t m = 0; m < kMonths.size(); ++m) {
    if (!has_name(kMonths[m], word)) continue;
    if (month != 0) return 0;
    month = static_cast<unsigned>(m + 1);
  }
  return month;
}

std::optional<unsigned> number_of(std::string_view text) {
  if (text.empty() || text.size() > 4 || !std::ranges::all_of(text, is_digit)) return std::nullopt;
  unsigned number = 0;
  for (const char c : text) number = number * 10 + static_cast<unsigned>(c - '0');
  return number;
}

// The parts of a date read so far.
struct AscDate {
  unsigned day = 0;
  unsigned month = 0;
  unsigned year = 0;
  std::string time = {};
  char half = 0;  // The first letter of am or pm; 0 if neither.

  void take(std::string_view word) {
    const std::string folded = fold(word);
    if (word.find(':') != std::string_view::npos) {
      if (time.empty()) time = word;
      std::ranges::replace(time, ',', '.');
    } else if (const auto number = number_of(folded); number && folded.size() != 3) {
      (folded.size() == 4 ? year : day) = *number;
    } else if (is_digit(word.front())) {
      take_numbers(word);
    } else if (const unsigned named = month_of(folded); named != 0) {
      month = named;  // The last one counts, because an earlier "mar" may be a Tuesday.
    } else if (!time.empty() && (folded == "a" || folded == "am" || folded == "p" || folded == "pm")) {
      half = folded.front();
    }
  }

  std::optional<int64_t> nanoseconds() const {
    const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(year)),
                                           std::chrono::month(month), std::chrono::day(day)};
    if (!date.ok() || year < 1970 || year > 2254 || time.empty()) return std::nullopt;
    int64_t time_ns = 0;
    try {
      time_ns = parse_time_of_day(time);
    } catch (const LineError&) {
      return std::nullopt;
    }
    constexpr int64_t kHour = 3'600'000'000'000;
    if (half == 'p' && time_ns < 12 * kHour) time_ns += 12 * kHour;
    if (half == 'a' && time_ns >= 12 * kHour) time_ns -= 12 * kHour;
    return std::chrono::sys_days(date).time_since_epoch().count() * 24 * kHour + time_ns;
  }

 private:
  // Reads "07.03.2022" or "2022-03-07".
  void take_numbers(std::string_view word) {
    const char mark = word.find('-') != std::string_view::npos ? '-' : '.';
    const size_t first = word.find(mark);
    const size_t second = first == std::string_view::npos ? first : word.find(mark, first + 1);
    if (second == std::string_view::npos) return;
    const auto left = number_of(word.substr(0, first));
    const auto middle = number_of(word.substr(first + 1, second - first - 1));
    const auto right = number_of(word.substr(second + 1));
    if (!left || !middle || !right) return;
    month = *middle;
    day = mark == '-' ? *right : *left;
    year = mark == '-' ? *left : *right;
  }
};

}  // namespace

std::optional<int64_t> parse_asc_date(std::string_view text) {
  AscDate date;
  text = trim(text);
  while (!text.empty()) date.take(take_word(text));
  return date.nanoseconds();
}

}  // namespace plimsoll
