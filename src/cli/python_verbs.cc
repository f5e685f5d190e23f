#include "cli/python_verbs.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/error.h"

namespace plimsoll {

void become_python(char** argv) {
  const char* const named = std::getenv("PLIMSOLL_PYTHON");
  const std::string python = named != nullptr && *named != '\0' ? named : "python3";
  // The program catches ImportError, as a Python without the package would otherwise print a traceback.
  static constexpr const char* kProgram =
      "import sys\ntry:\n    from plimsoll.jobs.commands import main\nexcept ImportError as error:\n    "
      "print(f'plimsoll: {sys.executable}: {error}; this verb needs the Python package: pip install '\n      "
      "    'plimsoll, and set PLIMSOLL_PYTHON to the Python that has it', file=sys.stderr)\n    "
      "sys.exit(2)\nmain(sys.argv[1:])\n";
  std::vector<char*> arguments = {const_cast<char*>(python.c_str()), const_cast<char*>("-c"),
                                  const_cast<char*>(kProgram)};
  for (char** argument = argv + 1; *argument != nullptr; ++argument) arguments.push_back(*argument);
  arguments.push_back(nullptr);
  ::execvp(python.c_str(), arguments.data());
  throw Failure(python + ": " + std::strerror(errno) +
                "; set PLIMSOLL_PYTHON to a Python that has the package");
}

void add_python_verbs(CLI::App& app, char** argv) {
  for (const auto& [name, description] :
       {std::pair("import",
                  "Convert the weights of a KD-GAT checkpoint to a model file (in Python, with torch)"),
        std::pair("export", "Convert a model file to a state_dict or to ONNX (in Python, with torch)"),
        std::pair("sync", "Copy the journal of a run to TensorBoard and MLflow (in Python)")}) {
    CLI::App* verb = app.add_subcommand(name, description);
    verb->set_help_flag();  // The package prints its own help.
    verb->prefix_command();
    verb->callback([argv] { become_python(argv); });
  }
}

}  // namespace plimsoll
