#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "config/task_options.h"

namespace plimsoll {

/// A row of the table of verbs: a function and the names of the verbs that it adds.
struct Verb {
  std::vector<std::string_view> names;
  std::function<void(CLI::App&)> add;
};

// One file per verb. Each function adds a subcommand, whose callback does the work. A function with a
// parameter `ingest`, `simulate` or `import` adds a verb below that verb. Those for CAN are defined only in
// builds with CAN.
void add_ingest(CLI::App& app);
void add_ingest_can(CLI::App& ingest);
void add_ingest_graph(CLI::App& ingest);
void add_ingest_points(CLI::App& ingest);
void add_ingest_swc(CLI::App& ingest);
void add_ingest_tables(CLI::App& ingest);
void add_simulate(CLI::App& app);
void add_simulate_can(CLI::App& simulate);
void add_simulate_graph(CLI::App& simulate);
void add_split_edges(CLI::App& app);
void add_walks(CLI::App& app);
void add_inspect(CLI::App& app);
void add_import_config(CLI::App& import);
void add_recipes(CLI::App& app);
void add_verify(CLI::App& app);
void add_merge(CLI::App& app);
void add_stage(CLI::App& app);
void add_job_report(CLI::App& app);
void add_top(CLI::App& app);
void add_compare(CLI::App& app);

/// Adds the options of `evaluate` that only tasks of CAN have. Returns the object that parsing the command
/// line fills.
std::shared_ptr<const TaskOptions> add_evaluate_can(CLI::App& evaluate);

/// Returns the rows of the table of verbs for CAN, in the order of the help (cli/can).
std::vector<Verb> can_verbs(char** argv);

}  // namespace plimsoll
