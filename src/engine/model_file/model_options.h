#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/words.h"
#include "config/checks.h"
#include "store/metadata_json.h"
#include "store/safetensors.h"

namespace plimsoll {

// The options of models as JSON, by the names of their members: metadata "plimsoll.config" of a file. The
// header of a section lists them by visit_options(options, visit, later), with the range of each; options in
// `later` may be missing in older files. This header does not need torch.

/// Reads one option. Errors: UsageError or Json::exception without the name of the option.
void read_option(int64_t& value, const Json& json, const WholeOption& range);
void read_option(std::vector<int64_t>& values, const Json& json, const WholeOption& range);
void read_option(double& value, const Json& json, const RealOption& range);
void read_option(bool& value, const Json& json);
template <Worded Enum>
void read_option(Enum& value, const Json& json) {
  const auto word = json.get<std::string>();
  const std::optional<Enum> found = find_word<Enum>(word);
  if (!found) throw UsageError(fmt::format("found '{}', expected {}", word, fmt::join(kWords<Enum>, ", ")));
  value = *found;
}

/// Returns the options as they are in a file.
template <typename Options>
Json options_json(const Options& options) {
  Json config = Json::object();
  const auto write = [&](const char* key, const auto& value, const auto&...) { config[key] = value; };
  visit_options(options, write, write);
  return config;
}

/// Reads the options of a file. Options that older files lack get their defaults. Errors: InputError that
/// names the option that is missing, of another type, or out of range. The sizes may still be wrong:
/// read_model() compares them with the tensors (tensor_file.h).
template <typename Options>
Options read_options(const SafetensorsView& file) {
  Options options;
  read_metadata(file, "plimsoll.config", [&](const Json& config) {
    const auto visit = [&](const char* key, auto& value, const auto&... rule) {
      const auto wrong = [&](const std::exception& error) {
        return UsageError(fmt::format("{}: {}", key, error.what()));
      };
      try {
        read_option(value, config.at(key), rule...);
      } catch (const UsageError& error) {
        throw wrong(error);
      } catch (const Json::exception& error) {
        throw wrong(error);
      }
    };
    visit_options(options, visit, [&](const char* key, auto& value, const auto&... rule) {
      if (config.contains(key)) visit(key, value, rule...);
    });
  });
  return options;
}

}  // namespace plimsoll
