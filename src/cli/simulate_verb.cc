#include "cli/verbs.h"

namespace plimsoll {

void add_simulate(CLI::App& app) {
  CLI::App* simulate = app.add_subcommand("simulate", "Simulate traffic, or a graph");
  simulate->require_subcommand(1);
#ifdef PLIMSOLL_CAN
  add_simulate_can(*simulate);
#endif
  add_simulate_graph(*simulate);
}

}  // namespace plimsoll
