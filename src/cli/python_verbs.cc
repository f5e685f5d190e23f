#include "cli/python_verbs.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/verbs.h"

namespace plimsoll {

void become_python(char** argv) {
  const char* const named = std::getenv("PLIMSOLL_PYTHON");
  const std::string python = named != nullptr && *named != '\0' ? named : "python3";
  // The program catches ImportError, because a Python without the package would otherwise print a traceback.
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

namespace {

// Adds a verb that the Python package runs; the package also prints its help.
void add_verb_of_python(CLI::App& app, const std::string& name, const std::string& description, char** argv) {
  CLI::App* verb = app.add_subcommand(name, description);
  verb->set_help_flag();
  verb->prefix_command();
  verb->callback([argv] { become_python(argv); });
}

}  // namespace

void add_python_verbs(CLI::App& app, char** argv) {
  CLI::App* import = app.add_subcommand("import", "Convert files of other systems");
  import->require_subcommand(1);
  add_verb_of_python(*import, "kdgat",
                     "Convert the weights of a KD-GAT checkpoint to a model file (in Python, with torch)",
                     argv);
  add_import_config(*import);
  add_verb_of_python(
      app, "export",
      "Convert a model file to a PyTorch state_dict, or the network of a `gat` or `vgae` model "
      "to ONNX (in Python, with torch)",
      argv);
  add_verb_of_python(app, "sync", "Copy the journal of a run to TensorBoard and MLflow (in Python)", argv);
}

}  // namespace plimsoll
