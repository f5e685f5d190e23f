#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace plimsoll {

/// Answers what other systems have on their command line, before it is parsed: stages as verbs
/// (`autoencoder`), options (`--teacher-path FILE`) and settings (`mode=curriculum`). `arguments` are those
/// after the program's name. Errors: UsageError that says of each what to write here.
void refuse_foreign_words(const CLI::App& app, const std::vector<std::string>& arguments);

/// What to say of the first of the arguments that is no verb or option, with the nearest that is one; ""
/// where all are.
std::string about_unknown_word(const CLI::App& app, const std::vector<std::string>& arguments);

}  // namespace plimsoll
