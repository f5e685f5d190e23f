#pragma once

#include <CLI/CLI.hpp>

namespace plimsoll {

/// Becomes `python -m plimsoll` with the same arguments, for ranks of a run and for the verbs below. The
/// Python is that of PLIMSOLL_PYTHON, else python3; it must have the package. Errors: Failure when it cannot
/// be started.
[[noreturn]] void become_python(char** argv);

/// The verbs that the Python package has: `import` and `export` of weights, which need torch's own formats.
void add_python_verbs(CLI::App& app, char** argv);

}  // namespace plimsoll
