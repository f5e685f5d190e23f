#pragma once

#include <CLI/CLI.hpp>

namespace plimsoll {

// One file a verb: each adds its subcommand, whose callback does the work.
void add_ingest(CLI::App& app);
void add_ingest_tu(CLI::App& ingest);     // below `ingest`
void add_ingest_graph(CLI::App& ingest);  // likewise
void add_simulate(CLI::App& app);
void add_simulate_graph(CLI::App& simulate);  // below `simulate`
void add_split_edges(CLI::App& app);
void add_windows(CLI::App& app);
void add_inspect(CLI::App& app);
void add_verify(CLI::App& app);
void add_sync(CLI::App& app);
void add_top(CLI::App& app);
void add_compare(CLI::App& app);
void add_calibrate(CLI::App& app);
void add_detect(CLI::App& app);

}  // namespace plimsoll
