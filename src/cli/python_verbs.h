#pragma once

#include <CLI/CLI.hpp>

namespace plimsoll {

/// Replaces this process with `python -m plimsoll` with the same arguments, for ranks of a run and for the
/// verbs of add_python_verbs(). Runs PLIMSOLL_PYTHON, or python3 if it is not set; that Python must have the
/// package. Errors: Failure if it cannot be started.
[[noreturn]] void become_python(char** argv);

/// Adds the verbs of the Python package: `import` and `export` of weights, which need torch's own formats,
/// and `sync`.
void add_python_verbs(CLI::App& app, char** argv);

}  // namespace plimsoll
