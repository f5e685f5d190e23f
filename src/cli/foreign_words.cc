#include "cli/foreign_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/nearest_word.h"
#include "config/foreign_names.h"

namespace plimsoll {
namespace {

// Returns a message with the command for a stage that was given as a verb; empty if it is not a stage.
std::string verb_instead(const std::string& verb) {
  const std::string_view instead = instead_of("mode", verb);
  if (instead == instead_of("mode")) return {};
  return fmt::format("'{}' is not a verb here; instead: {}{}", verb,
                     instead.starts_with("task: ") ? "plimsoll train RECIPE --data DIR --run DIR with " : "",
                     instead);
}

// Returns a message with the equivalent of an unknown `--name value` or `name=value`; empty if there is none.
std::string setting_instead(const std::string& shown, const std::string& name, const std::string& value,
                            bool takes_keys) {
  std::string instead(instead_of(name, value));
  const std::string keys = instead.empty() && takes_keys ? keys_called(name) : "";
  if (!keys.empty()) instead = fmt::format("-O {}={}", keys, value.empty() ? "VALUE" : value);
  return instead.empty() ? "" : fmt::format("{} is not an option here; instead: {}", shown, instead);
}

// Returns "'trian' is not a verb; the nearest is 'train'; `plimsoll --help` lists all".
std::string about(const std::string& word, const std::string& no_what, const std::string& verb,
                  const std::vector<std::string>& known) {
  const size_t letters = word.size() - std::min(word.find_first_not_of('-'), word.size());
  const std::string nearest = nearest_word(word, known, letters / 2);
  return fmt::format("'{}' is not {}{}; `{} --help` lists all", word, no_what,
                     nearest.empty() ? "" : fmt::format("; the nearest is '{}'", nearest), verb);
}

// CLI11 represents groups of options as verbs without a name.
std::vector<const CLI::App*> parts_of(const CLI::App& verb, bool named) {
  return verb.get_subcommands([=](const CLI::App* part) { return part->get_name().empty() != named; });
}

std::vector<std::string> options_of(const CLI::App& verb) {
  std::vector<std::string> names;
  for (const CLI::App* group : parts_of(verb, /*named=*/false))
    for (std::string& name : options_of(*group)) names.push_back(std::move(name));
  for (const CLI::Option* option : verb.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

}  // namespace

std::string about_unknown_word(const CLI::App& app, const std::vector<std::string>& arguments) {
  const CLI::App* at = &app;
  std::string verb = app.get_name();
  for (const std::string& argument : arguments) {
    const bool is_option = argument.size() > 1 && argument[0] == '-' && std::isdigit(argument[1]) == 0;
    const auto verbs = parts_of(*at, /*named=*/true);
    if (is_option) {
      const std::string name =
          argument.starts_with("--") ? argument.substr(0, argument.find('=')) : argument.substr(0, 2);
      if (name == "--") break;
      if (at->get_option_no_throw(name) == nullptr)
        return about(name, fmt::format("an option of `{}`", verb), verb, options_of(*at));
    } else if (!verbs.empty()) {
      const auto named = std::ranges::find(verbs, argument, &CLI::App::get_name);
      if (named == verbs.end()) {
        std::vector<std::string> names;
        for (const CLI::App* known : verbs) names.push_back(known->get_name());
        return about(argument, at == &app ? "a verb" : fmt::format("a verb of `{}`", verb), verb, names);
      }
      at = *named;
      verb += " " + argument;
    }
  }
  return {};
}

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
