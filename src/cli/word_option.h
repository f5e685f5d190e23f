#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "base/words.h"

namespace plimsoll {

/// Adds an option that accepts the names of an enum's values. `value` is an enum, whose current value is the
/// default, or an optional enum, which has no default. It must outlive the parsing of the command line.
template <typename Value>
CLI::Option* add_word_option(CLI::App& app, const std::string& name, Value& value, const std::string& help) {
  constexpr bool kHasDefault = std::is_enum_v<Value>;
  using Enum = typename decltype([] {
    if constexpr (kHasDefault)
      return std::type_identity<Value>();
    else
      return std::type_identity<typename Value::value_type>();
  }())::type;
  CLI::Option* const option =
      app.add_option_function<std::string>(
             name, [&value, name](const std::string& word) { value = parse_word<Enum>(word, name); }, help)
          ->check(CLI::IsMember(std::vector<std::string>(kWords<Enum>.begin(), kWords<Enum>.end())));
  if constexpr (kHasDefault) option->default_str(std::string(word_of(value)));
  return option;
}

}  // namespace plimsoll
