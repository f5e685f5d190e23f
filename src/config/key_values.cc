#include "config/key_values.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/number_text.h"
#include "config/foreign_names.h"
#include "config/yaml.h"
#include "config/yaml_names.h"

namespace plimsoll {
namespace {

template <typename Number>
void read_number(const std::string& key, Number& value, const Range& range, const Written& written) {
  require_single(key, written);
  const std::optional<Number> read = parse_number<Number>(written.text);
  if (!read)
    throw UsageError(fmt::format("{}: {} is '{}', expected {}", written.where, key, written.text,
                                 std::is_integral_v<Number> ? "a whole number" : "a number"));
  const auto number = static_cast<double>(*read);
  if (!(number >= range.min && number <= range.max))
    throw UsageError(fmt::format("{}: {} is {}, expected {:g} to {:g}", written.where, key, written.text,
                                 range.min, range.max));
  value = *read;
}

// Returns the names in a YAML list, which comes from a file or from the text of an override, or in a single
// value.
std::vector<std::string> as_names(const std::string& key, const Written& written) {
  if (written.names) return *written.names;
  std::optional<std::vector<std::string>> names;
  try {
    names = names_in(YAML::Load(written.text));
  } catch (const YAML::Exception&) {
    // The text is not YAML but a name that looks like it.
  }
  if (!names && written.text.starts_with('['))
    throw UsageError(
        fmt::format("{}: {} is '{}', expected a list such as [a, b]", written.where, key, written.text));
  return names ? *names : std::vector<std::string>{written.text};
}

}  // namespace

void require_single(const std::string& key, const Written& written) {
  if (written.names) throw UsageError(fmt::format("{}: '{}' must be a single value", written.where, key));
}

UsageError wrong_word(const std::string& key, std::span<const std::string_view> words,
                      const Written& written) {
  const std::string reason =
      key == "training.precision"
          ? " (bf16-mixed and 16-mixed on a GPU; on the CPU other precisions are slower; memory is "
            "saved by training.block instead)"
          : "";
  // A key without a section may also exist in another system, with other values.
  const bool shared = key.find('.') == std::string::npos;
  const std::string_view instead = shared ? instead_of(key, written.text) : "";
  return UsageError(fmt::format(
      "{}: {} is '{}', expected {}{}{}{}", written.where, key, written.text, fmt::join(words, "|"), reason,
      instead.empty() ? nearest_hint(written.text, words) : "; instead: ", instead));
}

void read_value(const std::string& key, std::string& value, Text, const Written& written) {
  require_single(key, written);
  value = written.text;
}

void read_value(const std::string& key, std::string& value, const OneOf& one_of, const Written& written) {
  require_single(key, written);
  if (std::ranges::find(one_of.words, written.text) == one_of.words.end())
    throw wrong_word(key, one_of.words, written);
  value = written.text;
}

void read_value(const std::string& key, bool& value, Flag, const Written& written) {
  require_single(key, written);
  const auto found = std::ranges::find(kFlagWords, written.text);
  if (found == kFlagWords.end()) throw wrong_word(key, kFlagWords, written);
  value = found != kFlagWords.begin();
}

void read_value(const std::string& key, int64_t& value, const Range& range, const Written& written) {
  read_number(key, value, range, written);
}

void read_value(const std::string& key, double& value, const Range& range, const Written& written) {
  read_number(key, value, range, written);
}

void read_value(const std::string& key, AutoOrNumber& value, const AutoOr& range, const Written& written) {
  require_single(key, written);
  const Range limits{range.min, range.max};
  double number = 0;
  int64_t whole_number = 0;
  try {
    if (written.text != AutoOrNumber::kAuto && range.whole) read_value(key, whole_number, limits, written);
    if (written.text != AutoOrNumber::kAuto && !range.whole) read_value(key, number, limits, written);
  } catch (const UsageError& error) {
    throw UsageError(std::string(error.what()) + ", or auto");
  }
  value.text = written.text;
}

void read_value(const std::string& key, std::vector<std::string>& value, Names, const Written& written) {
  value = as_names(key, written);
}

void read_value(const std::string& key, std::vector<int64_t>& value, const EachInRange& numbers,
                const Written& written) {
  value.clear();
  Written list = written;  // "80, 40" is accepted for [80, 40].
  if (!list.text.starts_with('[')) list.text = "[" + list.text + "]";
  for (const std::string& number : as_names(key, list))
    read_value(key, value.emplace_back(), Range{numbers.min, numbers.max}, Written{number, written.where});
  if (value.empty() && !numbers.may_be_empty)
    throw UsageError(fmt::format("{}: {} is an empty list", written.where, key));
}

std::string value_text(const std::string& value) {
  YAML::Emitter text;
  text << value;
  return text.c_str();
}

std::string value_text(const AutoOrNumber& value) {
  return value_text(value.text);
}

std::string value_text(const std::vector<int64_t>& numbers) {
  return fmt::format("[{}]", fmt::join(numbers, ", "));
}

std::string value_text(const std::vector<std::string>& names) {
  YAML::Emitter text;
  text << YAML::Flow << names;
  return text.c_str();
}

std::string value_text(bool value) {
  return fmt::format("{}", value);
}

std::string value_text(int64_t value) {
  return fmt::format("{}", value);
}

std::string value_text(double value) {
  return fmt::format("{}", value);
}

}  // namespace plimsoll
