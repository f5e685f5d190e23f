#pragma once

#include <CLI/CLI.hpp>

namespace plimsoll {

/// Replaces this process with the command line of the Python package with the same arguments, for ranks of a
/// run and for verbs of add_python_verbs(). Runs PLIMSOLL_PYTHON, or python3 if it is not set or empty. If
/// that Python does not have the package, it prints an error and exits with code 2. Errors: Failure if it
/// cannot be started.
[[noreturn]] void become_python(char** argv);

/// Adds the verbs of the Python package: `import kdgat` and `export`, which need torch's own formats, and
/// `sync`. Also adds `import config`, which this program runs itself.
void add_python_verbs(CLI::App& app, char** argv);

}  // namespace plimsoll
