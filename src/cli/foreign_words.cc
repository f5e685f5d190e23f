#include "cli/foreign_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "config/foreign_names.h"

namespace plimsoll {
namespace {

// Of a stage that is used as a verb; empty where it is none.
std::string verb_instead(const std::string& verb) {
  const std::string_view instead = instead_of("mode", verb);
  if (instead == instead_of("mode")) return {};
  return fmt::format("'{}' is no verb here; instead: {}{}", verb,
                     instead.starts_with("task: ") ? "plimsoll train RECIPE --data DIR --run DIR with " : "",
                     instead);
}

// Of `--name value` or `name=value`, neither of which the verb knows; empty where nobody does.
std::string setting_instead(const std::string& shown, const std::string& name, const std::string& value,
                            bool takes_keys) {
  std::string instead(instead_of(name, value));
  const std::string keys = instead.empty() && takes_keys ? keys_called(name) : "";
  if (!keys.empty()) instead = fmt::format("-O {}={}", keys, value.empty() ? "VALUE" : value);
  return instead.empty() ? "" : fmt::format("{} is no option here; instead: {}", shown, instead);
}

}  // namespace

void refuse_foreign_words(const CLI::App& app, const std::vector<std::string>& arguments) {
  if (arguments.empty()) return;
  std::vector<std::string> answers;
  const auto verbs =
      app.get_subcommands([&](const CLI::App* known) { return known->get_name() == arguments[0]; });
  const CLI::App* const verb = verbs.empty() ? nullptr : verbs[0];
  if (verb == nullptr) {
    answers.push_back(verb_instead(arguments[0]));
    if (answers[0].empty()) return;
  } else if (verb->get_option_no_throw("--data") == nullptr) {
    return;
  }
  const auto knows = [&](const std::string& option) {
    return verb != nullptr && verb->get_option_no_throw(option) != nullptr;
  };
  const bool takes_keys = verb == nullptr || knows("-O");
  for (size_t i = 1; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    std::string value = equals == std::string::npos ? "" : argument.substr(equals + 1);
    const bool is_value = arguments[i - 1].starts_with('-');
    if (argument.starts_with("--")) {
      if (knows(name) || name == "--help") continue;
      if (value.empty() && i + 1 < arguments.size() && !arguments[i + 1].starts_with('-'))
        value = arguments[i + 1];
      answers.push_back(setting_instead(name, name.substr(2), value, takes_keys));
    } else if (!is_value && !argument.starts_with('-') && equals != std::string::npos) {
      answers.push_back(setting_instead(name + "=", name, value, takes_keys));
    } else if (verb == nullptr && arguments[i - 1] == "-O") {
      if (!instead_of(name, value).empty())
        answers.push_back(fmt::format("-O {}: instead: {}", argument, instead_of(name, value)));
    }
  }
  std::erase(answers, "");
  if (!answers.empty()) throw UsageError(fmt::format("{}", fmt::join(answers, "\n")));
}

}  // namespace plimsoll
