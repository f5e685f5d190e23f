#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/json.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/made_set.h"
#include "cli/verbs.h"
#include "ingest/tables/meanings_file.h"
#include "ingest/tables/relbench_folder.h"
#include "ingest/tables/relbench_tasks.h"
#include "ingest/tables/table_words.h"
#include "ingest/tables/tables.h"
#include "io/arrow_files.h"
#include "io/location.h"
#include "io/object_store.h"
#include "telemetry/counted.h"
#include "telemetry/progress.h"

namespace plimsoll {
namespace {

// Memory that libarrow and its decompressors use outside the pool that the ledger counts; 4 to 5 MiB were
// measured.
constexpr int64_t kArrowOutsidePool = 8 * kMiB;

struct IngestTablesVerbOptions {
  TablesOptions tables;
  std::string folder;
  std::vector<std::string> words;
  std::vector<std::string> meanings;
  std::string meanings_file;
  std::vector<std::string> as_edge;
  std::vector<std::string> tasks;
  Resources resources;
  bool json = false;
};

// Returns a list of everything that was left out.
std::string remarks_on(const TablesResult& result) {
  std::string text;
  if (result.dangling > 0)
    text += fmt::format("dangling: {} without a matching row; no edge was added\n",
                        counted(result.dangling, "foreign key"));
  if (result.rows_without_time > 0)
    text += fmt::format("left out: {} without a time\n", counted(result.rows_without_time, "row"));
  if (result.tasks > 0)
    text += fmt::format("{} with {}\n", counted(result.tasks, "task"), counted(result.seeds, "seed"));
  if (result.dangling_seeds > 0)
    text += fmt::format("left out: {} of rows that do not exist\n", counted(result.dangling_seeds, "seed"));
  const auto left_out = [&](int64_t count, const char* what, const char* why) {
    if (count > 0) text += fmt::format("left out: {} {}\n", counted(count, what), why);
  };
  left_out(result.rows_without_ends, "row", "of event tables in which the key of an end is missing");
  left_out(result.seeds_without_time, "seed", "without a time");
  left_out(result.dangling_targets, "target", "of a row that does not exist");
  left_out(result.seeds_without_target, "seed", "without a target, or none of whose targets exists");
  for (const std::string& column : result.left_out) text += fmt::format("left out: {}\n", column);
  return text;
}

// Returns how much memory the client of an object store takes, if one is named.
int64_t object_client_bytes(const IngestTablesVerbOptions& options) {
  const auto names_store = [](const std::string& text) { return text.find("s3://") != std::string::npos; };
  const bool any = names_store(options.folder) || std::ranges::any_of(options.words, names_store) ||
                   std::ranges::any_of(options.tasks, names_store) || names_store(options.meanings_file);
  return any ? kObjectClientBytes : 0;
}

void run_tables(IngestTablesVerbOptions& options) {
  const Stopwatch watch;
  if (options.folder.empty() == options.words.empty())
    throw UsageError("ingest tables needs either a RelBench data set or tables named with --table");
  load_arrow();
  Budget budget(options.resources, 256 * kMiB, kArrowOutsidePool + object_client_bytes(options));
  options.tables.outside_ledger = budget.outside_ledger();
  const Location folder = parse_location(options.folder);
  if (!options.folder.empty()) add_relbench_folder(folder, options.tables);
  for (const std::string& words : options.words) add_table(words, options.tables);
  for (const std::string& task : options.tasks) add_task_folder(parse_location(task), options.tables);
  for (const std::string& table : options.as_edge) make_edge_table(table, options.tables);
  for (const std::string& words : options.meanings) add_meaning(words, options.tables);
  if (!options.meanings_file.empty())
    add_meanings_file(parse_location(options.meanings_file), options.tables);
  else if (!options.folder.empty() && is_file(folder / "meanings.yaml"))
    add_meanings_file(folder / "meanings.yaml", options.tables);
  TablesResult result;
  {
    Progress reading("ingest", "rows");
    const auto progress = until_stopped([&](int64_t rows) { reading.update(rows, 0); });
    result = stopped_in_order([&] { return ingest_tables(options.tables, progress); });
  }
  const double seconds = watch.seconds();
  print_made({.out = options.tables.out,
              .already_there = result.already_there,
              .counts = {{"node_types", result.node_types},
                         {"edge_types", result.edge_types},
                         {"nodes", result.nodes},
                         {"edges", result.edges},
                         {"rows_read", result.rows},
                         {"dangling", result.dangling},
                         {"tasks", result.tasks},
                         {"seeds", result.seeds},
                         {"dangling_seeds", result.dangling_seeds},
                         {"seeds_without_time", result.seeds_without_time},
                         {"seeds_without_target", result.seeds_without_target},
                         {"dangling_targets", result.dangling_targets},
                         {"rows_without_time", result.rows_without_time},
                         {"rows_without_ends", result.rows_without_ends},
                         {"left_out", result.left_out}},
              .text = fmt::format("{} of {}, {} of {}", counted(result.nodes, "node"),
                                  counted(result.node_types, "type"), counted(result.edges, "edge"),
                                  counted(result.edge_types, "type")),
              .from = "sources",
              .remarks = remarks_on(result),
              .took = fmt::format("{} read in {} ({})", counted(result.rows, "row"), format_seconds(seconds),
                                  format_rate(result.rows, seconds, "rows"))},
             seconds, budget, options.json);
}

}  // namespace

void add_ingest_tables(CLI::App& ingest) {
  auto options = std::make_shared<IngestTablesVerbOptions>();
  CLI::App* tables = ingest.add_subcommand(
      "tables", "Read tables with keys and times into one graph with node and edge types");
  tables
      ->add_option("DATASET", options->folder,
                   "Read a data set in RelBench's folder format: manifest.yaml, db/TABLE.parquet and tasks/; "
                   "also as s3://BUCKET/FOLDER")
      ->type_name("DIR");
  tables
      ->add_option(
          "--table", options->words,
          "Read a table: NAME=FILES, then a colon and settings separated by commas: key=COLUMN, "
          "time=COLUMN, unit=s|ms|us|ns (of an integer time), COLUMN->TABLE; give several columns "
          "as (A,B). FILES is a file, a pattern or a folder of Parquet, Arrow IPC or CSV, on disk or "
          "as s3://BUCKET/KEY")
      ->type_name("TEXT")
      ->allow_extra_args(false);
  tables
      ->add_option("--meaning", options->meanings,
                   "Replace the inferred meaning of a column: TABLE.COLUMN=MEANING, where MEANING is number, "
                   "category, time:UNIT or skip")
      ->type_name("TEXT")
      ->allow_extra_args(false);
  tables
      ->add_option("--meanings", options->meanings_file,
                   "Read meanings from this YAML file, as TABLE: {COLUMN: MEANING}; default: meanings.yaml "
                   "in DATASET, if it exists")
      ->type_name("FILE");
  tables->add_option("--out", options->tables.out, "Write the graph to this folder")
      ->required()
      ->type_name("DIR");
  tables
      ->add_option(
          "--as-edge", options->as_edge,
          "Convert this table, which has no key and two foreign keys, to an edge type with columns and times")
      ->type_name("TABLE")
      ->allow_extra_args(false);
  tables
      ->add_option("--task", options->tasks,
                   "Also read a task of your own: a folder with a manifest.yaml and with train, val and test "
                   "tables of seeds, Parquet or CSV")
      ->type_name("DIR")
      ->allow_extra_args(false);
  tables->add_flag("--reverse", options->tables.reverse,
                   "Also add each edge type in the opposite direction, as rev_NAME");
  tables->add_flag("--force", options->tables.force, "Replace an existing output");
  tables->add_flag("--json", options->json, "Print the summary as JSON");
  options->resources.add_budget(*tables);
  tables->footer(
      "Example: plimsoll ingest tables --table 'users=users.parquet:key=id' --table "
      "'orders=orders/*.parquet:key=id,time=at,user_id->users' --out graph");
  tables->callback([options] { run_tables(*options); });
}

}  // namespace plimsoll
