#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "cli/verbs.h"

namespace plimsoll {
namespace {

// Becomes Python, which has the libraries of trackers.
[[noreturn]] void become_python(const std::vector<std::string>& arguments) {
  const char* const given = std::getenv("PLIMSOLL_PYTHON");
  const std::string python = given != nullptr && *given != 0 ? given : "python3";
  std::vector<std::string> words = {python, "-m", "plimsoll.sync"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> list;
  for (std::string& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  ::execvp(list.front(), list.data());
  throw UsageError(
      fmt::format("{} cannot be started: {}; give PLIMSOLL_PYTHON the Python that has the package plimsoll",
                  python, std::strerror(errno)));
}

}  // namespace

void add_sync(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("sync", "Bring the journal of a run to TensorBoard and MLflow");
  verb->set_help_flag();  // Python has it
  verb->prefix_command();
  verb->callback([verb] { become_python(verb->remaining()); });
}

}  // namespace plimsoll
