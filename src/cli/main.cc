#include "cli/command.h"
#include "cli/verbs.h"

int main(int argc, char** argv) {
  CLI::App app("Train graph neural networks inside a stated memory budget.", "plimsoll");
  plimsoll::add_ingest(app);
  plimsoll::add_windows(app);
  plimsoll::add_inspect(app);
  plimsoll::add_verify(app);
  return plimsoll::run_command(app, argc, argv);
}
