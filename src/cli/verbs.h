#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string_view>
#include <vector>

namespace plimsoll {

/// A row of the table of verbs: a function, and the names of the verbs that it adds.
struct Verb {
  std::vector<std::string_view> names;
  std::function<void(CLI::App&)> add;
};

// One file per verb. Each function adds a subcommand, whose callback does the work.
void add_ingest(CLI::App& app);
void add_ingest_can(CLI::App& ingest);    // A verb below `ingest`.
void add_ingest_graph(CLI::App& ingest);  // A verb below `ingest`.
void add_ingest_points(CLI::App& ingest);
void add_ingest_swc(CLI::App& ingest);
void add_ingest_tables(CLI::App& ingest);
void add_simulate(CLI::App& app);
void add_simulate_can(CLI::App& simulate);    // A verb below `simulate`.
void add_simulate_graph(CLI::App& simulate);  // A verb below `simulate`.
void add_split_edges(CLI::App& app);
void add_walks(CLI::App& app);
void add_inspect(CLI::App& app);
void add_recipes(CLI::App& app);
void add_verify(CLI::App& app);
void add_merge(CLI::App& app);
void add_stage(CLI::App& app);
void add_job_report(CLI::App& app);
void add_top(CLI::App& app);
void add_compare(CLI::App& app);

// The verbs for CAN, defined in cli/can.
void add_windows(CLI::App& app);
void add_convert(CLI::App& app, char** argv);  // May become a verb of the Python package.
void add_check(CLI::App& app);
void add_calibrate(CLI::App& app);
void add_detect(CLI::App& app);
void add_detector(CLI::App& app);

}  // namespace plimsoll
