#include "cli/verbs.h"

namespace plimsoll {

void add_ingest(CLI::App& app) {
  CLI::App* ingest = app.add_subcommand("ingest", "Read captures, graphs or tables into a data set");
  ingest->require_subcommand(1);
#ifdef PLIMSOLL_CAN
  add_ingest_can(*ingest);
#endif
  add_ingest_graph(*ingest);
  add_ingest_points(*ingest);
  add_ingest_swc(*ingest);
  add_ingest_tables(*ingest);
}

}  // namespace plimsoll
