#include "config/recipe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <sstream>

#include "base/error.h"
#include "base/nearest_word.h"
#include "base/number_text.h"
#include "config/foreign_names.h"
#include "config/known_recipes.h"
#include "config/schema.h"
#include "config/yaml.h"
#include "config/yaml_of.h"

namespace plimsoll {
namespace {

// A value as it was written, and its location. A list has `names` in addition to the text.
struct Written {
  std::string text;  // For a list: its values, separated by commas.
  std::string where;
  std::optional<std::vector<std::string>> names = {};
};
using WrittenValues = std::map<std::string, Written>;

// Records the lines where documents begin.
class DocumentLines final : public YAML::EventHandler {
 public:
  std::vector<int> lines;

  void OnDocumentStart(const YAML::Mark& mark) override { lines.push_back(mark.line); }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
  }
  void OnMapEnd() override {}
};

// Returns the line of the second document of a text, if it has one. YAML::LoadAll never returns for some
// texts that are not UTF-8.
std::optional<int> second_document(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DocumentLines documents;
  while (documents.lines.size() < 2 && parser.HandleNextDocument(documents)) continue;
  return documents.lines.size() < 2 ? std::nullopt : std::optional(documents.lines[1]);
}

std::vector<std::string> known_keys() {
  std::vector<std::string> keys;
  Recipe recipe;
  visit_recipe(recipe, [&](const std::string& key, auto&, auto) { keys.push_back(key); });
  return keys;
}

bool is_known(const std::string& key) {
  const std::vector<std::string> keys = known_keys();
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

// A section of a recipe may have the name of another system's key.
bool is_section(const std::string& key) {
  const std::vector<std::string> keys = known_keys();
  return std::ranges::any_of(keys, [&](const std::string& known) { return known.starts_with(key + "."); });
}

// Returns the first key of a section, in the form of an override or of a recipe, with `value` if it names a
// preset.
std::string key_of_section(const std::string& section, std::string_view value, bool is_override) {
  std::string key, text = "...";
  Recipe recipe;
  visit_recipe(recipe, [&]<typename Value>(const std::string& known, Value&, const auto& rule) {
    if (!key.empty() || !known.starts_with(section + ".")) return;
    key = known;
    if constexpr (requires { rule.section; })
      if (find_word<Value>(value)) text = value;
  });
  return is_override ? key + "=" + text
                     : fmt::format("{}: {{{}: {}}}", section, key.substr(section.size() + 1), text);
}

std::string answer_to(const std::string& key, std::string_view value, const std::string& where) {
  if (const std::string_view instead = instead_of(key, value); !instead.empty())
    return fmt::format("{}: '{}' is not a key here; instead: {}", where, key, instead);
  if (const std::string keys = keys_called(key); !keys.empty())
    return fmt::format("{}: '{}' belongs in a section: {}", where, key, keys);
  if (is_section(key))
    return fmt::format("{}: '{}' is a section{}, expected its keys, such as {}", where, key,
                       value.empty() ? "" : fmt::format(", found '{}'", value),
                       key_of_section(key, value, where.starts_with("-O")));
  return fmt::format("{}: unknown key '{}'; the nearest known key is '{}'", where, key,
                     nearest_word(key, known_keys()));
}

// Collects the faults of keys and reports all of them together, because a file of another system has many.
class UnknownKeys {
 public:
  void add(const std::string& key, std::string_view value, const std::string& where) {
    text_ += (text_.empty() ? "" : "\n") + answer_to(key, value, where);
    if (++count_ == kMax) refuse();
  }
  void refuse() const {
    if (count_ > 0) throw UsageError(text_);
  }

 private:
  static constexpr int kMax = 64;
  std::string text_;
  int count_ = 0;
};

// Returns the names of a list, or nullopt if the node is not a list of names.
std::optional<std::vector<std::string>> names_of(const YAML::Node& node) {
  if (!node.IsSequence()) return std::nullopt;
  std::vector<std::string> names;
  for (const auto& name : node) {
    if (!name.IsScalar()) return std::nullopt;
    names.push_back(name.as<std::string>());
  }
  return names;
}

UsageError not_single(const std::string& key, const Written& written) {
  return UsageError(fmt::format("{}: '{}' must be a single value", written.where, key));
}

void flatten(const YAML::Node& node, const std::string& prefix, const std::string& name,
             WrittenValues& values, UnknownKeys& unknown) {
  for (const auto& entry : node) {
    const YAML::Mark mark = entry.first.Mark();
    const std::string where = fmt::format("{}:{}:{}", name, mark.line + 1, mark.column + 1);
    if (!entry.first.IsScalar()) throw UsageError(where + ": a key must be a name");
    const std::string key = prefix + entry.first.as<std::string>();
    // An anchor may stand for a map that contains it, so a map deeper than all keys must be an error.
    constexpr auto kDeepest = 3;
    if (entry.second.IsMap() && (is_section(key) || instead_of(key).empty()) &&
        std::count(key.begin(), key.end(), '.') < kDeepest) {
      flatten(entry.second, key + ".", name, values, unknown);
      continue;
    }
    if (entry.second.IsNull() && is_section(key)) continue;  // All of its keys are commented out.
    if (!is_known(key)) {
      unknown.add(key, entry.second.IsScalar() ? entry.second.as<std::string>() : "", where);
      continue;
    }
    Written written{"", where, names_of(entry.second)};
    if (!written.names && !entry.second.IsScalar())
      throw UsageError(fmt::format("{}: '{}' must be a single value or a list of names", where, key));
    if (!written.names) written.text = entry.second.as<std::string>();
    if (!values.emplace(key, std::move(written)).second)
      throw UsageError(fmt::format("{}: '{}' is given twice", where, key));
  }
}

// Returns the error for a word that is not one of a key's words.
UsageError wrong_word(const std::string& key, std::span<const std::string_view> words,
                      const Written& written) {
  const std::string reason =
      key == "training.precision"
          ? " (bf16-mixed and 16-mixed on a GPU; on the CPU other precisions are slower; memory is "
            "saved by training.block instead)"
          : "";
  // A key without a section may also exist in another system, with other words.
  const bool shared = key.find('.') == std::string::npos;
  const std::string_view instead = shared ? instead_of(key, written.text) : "";
  return UsageError(fmt::format(
      "{}: {} is '{}', expected {}{}{}{}", written.where, key, written.text, fmt::join(words, "|"), reason,
      instead.empty() ? nearest_hint(written.text, words) : "; instead: ", instead));
}

// YAML reads `on` and `off` as words, but users write true and false.
void translate_word(GradientCheckpointing, std::string& text) {
  if (text == "true") text = "on";
  if (text == "false") text = "off";
}
// Lightning uses another word for it.
void translate_word(Precision, std::string& text) {
  if (text == "32-true") text = "32";
}
template <typename Enum>
void translate_word(Enum, std::string&) {}

template <typename Enum>
void set(const std::string& key, Enum& value, const Choice<Enum>&, Written written) {
  if (written.names) throw not_single(key, written);
  translate_word(value, written.text);
  const std::optional<Enum> found = find_word<Enum>(written.text);
  if (!found) throw wrong_word(key, kWords<Enum>, written);
  value = *found;
}

void set(const std::string& key, std::string& value, Text, const Written& written) {
  if (written.names) throw not_single(key, written);
  value = written.text;
}

void set(const std::string& key, bool& value, const Flag&, const Written& written) {
  if (written.names) throw not_single(key, written);
  constexpr auto kFlags = std::to_array<std::string_view>({"false", "true"});
  const auto found = std::ranges::find(kFlags, written.text);
  if (found == kFlags.end()) throw wrong_word(key, kFlags, written);
  value = found != kFlags.begin();
}

template <typename Enum, typename Section>
void set(const std::string& key, Enum& value, const Preset<Section>& preset, const Written& written) {
  set(key, value, Choice<Enum>{}, written);
  apply_preset(preset.section, value);
}

template <typename Number>
void set(const std::string& key, Number& value, const Range& range, const Written& written) {
  if (written.names) throw not_single(key, written);
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

void set(const std::string& key, AutoOrNumber& value, const AutoOr& range, const Written& written) {
  if (written.names) throw not_single(key, written);
  const Range limits{range.min, range.max};
  double number = 0;
  int64_t whole_number = 0;
  try {
    if (written.text != AutoOrNumber::kAuto && range.whole) set(key, whole_number, limits, written);
    if (written.text != AutoOrNumber::kAuto && !range.whole) set(key, number, limits, written);
  } catch (const UsageError& error) {
    throw UsageError(std::string(error.what()) + ", or auto");
  }
  value.text = written.text;
}

void set(const std::string& key, WindowLength& value, const Range& frames, const Written& written) {
  if (written.names) throw not_single(key, written);
  try {
    value = WindowLength::parse(written.text);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}: {}", written.where, key, error.what()));
  }
  if (value.unit == WindowUnit::frames) {
    set(key, value.value, frames, written);
  } else if (value.value < WindowLength::kMinTime || value.value > WindowLength::kMaxTime) {
    throw UsageError(fmt::format("{}: {} is {}, expected 1us to 3600s", written.where, key, written.text));
  }
}

// Parses a YAML list, from a file or the text of an override, or a single value.
std::vector<std::string> as_names(const std::string& key, const Written& written) {
  if (written.names) return *written.names;
  std::optional<std::vector<std::string>> names;
  try {
    names = names_of(YAML::Load(written.text));
  } catch (const YAML::Exception&) {
    // Not YAML, but a name that looks like it.
  }
  if (!names && written.text.starts_with('['))
    throw UsageError(
        fmt::format("{}: {} is '{}', expected a list such as [a, b]", written.where, key, written.text));
  return names ? *names : std::vector<std::string>{written.text};
}

void set(const std::string& key, std::vector<std::string>& value, Names, const Written& written) {
  value = as_names(key, written);
}

void set(const std::string& key, std::vector<int64_t>& value, const EachInRange& numbers,
         const Written& written) {
  value.clear();
  Written list = written;  // "80, 40" is accepted for [80, 40].
  if (!list.text.starts_with('[')) list.text = "[" + list.text + "]";
  for (const std::string& number : as_names(key, list))
    set(key, value.emplace_back(), Range{numbers.min, numbers.max}, Written{number, written.where});
  if (value.empty()) throw UsageError(fmt::format("{}: {} is an empty list", written.where, key));
}

template <typename Value>
std::string text_of(const Value& value) {
  return fmt::format("{}", value);
}
std::string text_of(const std::vector<int64_t>& numbers) {
  return fmt::format("[{}]", fmt::join(numbers, ", "));
}
// Returns a word or any text, in quotes if YAML would read it as something else.
std::string text_of(const std::string& value) {
  YAML::Emitter text;
  text << value;
  return text.c_str();
}
template <Worded Enum>
std::string text_of(const Enum& value) {
  return text_of(std::string(word_of(value)));
}
std::string text_of(const AutoOrNumber& value) {
  return text_of(value.text);
}
std::string text_of(const WindowLength& value) {
  return value.text();
}
std::string text_of(const std::vector<std::string>& names) {
  YAML::Emitter text;
  text << YAML::Flow << names;
  return text.c_str();
}

// Returns a section's values as text after its n-th preset is applied.
template <typename Section>
std::vector<std::string> values_of_preset(Section section, size_t n) {
  apply_preset(section, static_cast<decltype(section.preset)>(n));
  std::vector<std::string> values;
  visit_keys(section, [&](const char*, const auto& value, const auto&) { values.push_back(text_of(value)); });
  return values;
}

// Returns the keys in which the first two presets of a section differ.
std::vector<std::string> keys_of_presets() {
  std::vector<std::string> keys;
  const Recipe recipe;
  visit_sections(recipe, [&](const std::string& name, const auto& section) {
    if constexpr (requires { section.preset; }) {
      const std::vector<std::string> first = values_of_preset(section, 0);
      const std::vector<std::string> second = values_of_preset(section, 1);
      size_t i = 0;
      visit_keys(section, [&](const char* key, const auto&, const auto&) {
        if (first[i] != second[i]) keys.push_back(name + "." + key);
        ++i;
      });
    }
  });
  return keys;
}

// A preset in an override replaces the sizes in the file. Sizes in overrides are kept.
void drop_sizes_of_file(WrittenValues& values, const std::vector<std::string>& overridden) {
  const auto is_overridden = [&](const std::string& key) {
    return std::ranges::find(overridden, key) != overridden.end();
  };
  for (const std::string& key : keys_of_presets()) {
    const std::string preset = key.substr(0, key.rfind('.')) + ".preset";
    if (is_overridden(preset) && !is_overridden(key)) values.erase(key);
  }
}

// The default stride of windows by time is the window.
void settle_windows(DataSection& data, const WrittenValues& values) {
  const auto where = [&](const char* key) {
    const auto found = values.find(key);
    return found == values.end() ? std::string() : found->second.where + ": ";
  };
  const bool by_time = data.window.unit == WindowUnit::nanoseconds;
  if (by_time && !values.contains("data.stride")) data.stride = data.window;
  if (data.stride.unit != data.window.unit)
    throw UsageError(
        fmt::format("{}data.stride is {} and data.window {}, expected both as frames or both as time",
                    where("data.stride"), data.stride.text(), data.window.text()));
  if (by_time && data.features == WindowFeatures::compat)
    throw UsageError(fmt::format(
        "{}data.window is {}, but data.features compat counts frames; set data.features: behaviour, or give "
        "a number of frames",
        where("data.window"), data.window.text()));
}

}  // namespace

Recipe parse_recipe(const std::string& text, const std::string& name,
                    const std::vector<std::string>& overrides, Recipe defaults) {
  WrittenValues values;
  UnknownKeys unknown;
  try {
    if (const auto line = second_document(text))
      throw UsageError(
          fmt::format("{}:{}: a second document; expected one, with all sections", name, *line + 1));
    const YAML::Node root = YAML::Load(text);
    if (!root.IsMap() && !root.IsNull()) throw UsageError(name + ": a recipe is a map of sections and keys");
    flatten(root, "", name, values, unknown);
  } catch (const YAML::Exception& error) {
    throw UsageError(
        fmt::format("{}:{}:{}: not YAML: {}", name, error.mark.line + 1, error.mark.column + 1, error.msg));
  }
  std::vector<std::string> overridden;
  for (const std::string& given : overrides) {
    const size_t equals = given.find('=');
    const std::string where = "-O " + given;
    if (equals == std::string::npos) throw UsageError(where + ": expected section.key=value");
    const std::string key = given.substr(0, equals);
    overridden.push_back(key);
    if (is_known(key))
      values[key] = Written{given.substr(equals + 1), where};
    else
      unknown.add(key, given.substr(equals + 1), where);
  }
  unknown.refuse();
  drop_sizes_of_file(values, overridden);
  Recipe recipe = std::move(defaults);
  visit_recipe(recipe, [&](const std::string& key, auto& value, const auto& check) {
    const auto found = values.find(key);
    if (found == values.end()) return;
    set(key, value, check, found->second);
  });
  settle_windows(recipe.data, values);
  return recipe;
}

Recipe load_recipe(const std::filesystem::path& path, const std::vector<std::string>& overrides,
                   Recipe defaults) {
  return parse_recipe(read_recipe(path), path.string(), overrides, std::move(defaults));
}

RecipeValues recipe_values(const Recipe& recipe) {
  RecipeValues values;
  visit_recipe(recipe, [&](const std::string& key, const auto& value, const auto&) {
    values.emplace_back(key, text_of(value));
  });
  return values;
}

std::string recipe_yaml(const Recipe& recipe) {
  return yaml_of(recipe_values(recipe));
}

}  // namespace plimsoll
