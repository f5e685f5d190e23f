#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace plimsoll {

/// Handles arguments of other systems before the command line is parsed: stages as verbs (`autoencoder`),
/// options (`--teacher-path FILE`) and settings (`mode=curriculum`). `arguments` excludes the program's name.
/// Errors: UsageError that names Plimsoll's equivalent.
void refuse_foreign_words(const CLI::App& app, const std::vector<std::string>& arguments);

/// Returns a message about the first argument that is neither a known verb nor a known option, with the most
/// similar known one; empty if all are known.
std::string about_unknown_word(const CLI::App& app, const std::vector<std::string>& arguments);

}  // namespace plimsoll
