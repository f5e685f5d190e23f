#include "ingest/tables/relbench_tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/timestamp.h"
#include "config/yaml.h"
#include "ingest/tables/file_stream.h"
#include "ingest/tables/relbench_yaml.h"
#include "ingest/tables/table_sources.h"

namespace plimsoll {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kAutocomplete = "autocomplete";  // The kind of task whose target is a column.

std::string required(const YAML::Node& node, const char* key, const std::string& where) {
  std::string text = yaml_text(node, key, where);
  if (text.empty()) throw InputError(fmt::format("{}: has no {}; mend the manifest", where, key));
  return text;
}

// Returns the table that is named under `key`.
const TableSpec& table_at(const YAML::Node& node, const char* key, const std::string& where,
                          const TablesOptions& options) {
  const std::string name = required(node, key, where);
  const auto table = std::ranges::find(options.tables, name, &TableSpec::name);
  if (table == options.tables.end())
    throw InputError(fmt::format("{}: {} is '{}', which is no table", where, key, name));
  return *table;
}

// Seeds and targets in tables of labels refer to keys.
void require_key(const TableSpec& table, const std::string& where) {
  if (table.key.size() != 1)
    throw InputError(
        fmt::format("{}: refers to '{}', a table without a key of one column", where, table.name));
}

// Returns the table of labels of a split, if there is one.
std::optional<TableFiles> find_split(const Location& folder, const std::string& split) {
  std::optional<TableFiles> parquet = find_table_file(folder / (split + ".parquet"));
  std::optional<TableFiles> csv = find_table_file(folder / (split + ".csv"));
  if (parquet && csv)
    throw InputError(
        fmt::format("{}: found {}.parquet and {}.csv, expected one table of labels; remove the other",
                    folder.text(), split, split));
  return parquet ? parquet : csv;
}

// Returns a time of the data set's manifest.
int64_t cut_of(const TablesOptions& options, const char* key, const std::string& where) {
  if (!options.words.contains(key))
    throw InputError(
        fmt::format("{}: its seeds are the rows of its table, which {} of a data set in RelBench's folder "
                    "format divides; "
                    "found none; add tables of labels train, val and test with times and targets to the "
                    "folder of the task, "
                    "and a key to its table",
                    where, key));
  const std::string text = options.words.value(key, std::string());
  if (const std::optional<int64_t> time = parse_timestamp(text)) return *time;
  throw InputError(fmt::format(
      "{}: its seeds are the rows of its table, which the data set's {} divides; found '{}' there, expected "
      "2024-12-31 or 2024-12-31 23:59:59",
      where, key, text));
}

// Makes the rows of the task's table its seeds, whether or not there are tables of labels. RelBench calls the
// key of a table without one primary_key.
void seed_from_rows(TaskSpec& task, const TableSpec& table, const TablesOptions& options,
                    const std::string& where) {
  if (task.target.empty()) throw InputError(where + ": has no target_col; mend the manifest");
  if (table.time.empty())
    throw InputError(fmt::format(
        "{}: its seeds are the rows of '{}', which has no time_col; add tables of labels with times", where,
        table.name));
  task.splits.clear();
  task.cuts = {.val = cut_of(options, "val_timestamp", where),
               .test = cut_of(options, "test_timestamp", where)};
  if (task.cuts->val > task.cuts->test)
    throw InputError(
        fmt::format("{}: its seeds are the rows of its table; found the val_timestamp {} after the "
                    "test_timestamp {} in the "
                    "data set's manifest.yaml, expected it before; mend that manifest",
                    where, options.words.value("val_timestamp", std::string()),
                    options.words.value("test_timestamp", std::string())));
  task.words["entity_col"] = table.key.size() == 1 ? table.key[0] : "primary_key";
  task.words["time_col"] = table.time;
}

TaskSpec read_task(const Location& folder, TablesOptions& options) {
  const Location file = folder / "manifest.yaml";
  const YAML::Node node = load_yaml_map(file);
  const std::string where = file.text();
  add_source(file, options);
  TaskSpec task{.name = folder.path.filename().string(),
                .kind = required(node, "kind", where),
                .type = required(node, "task_type", where)};
  const bool is_pairs = node["dst_entity_table"].IsDefined();
  const bool has_rows_as_seeds = task.kind == kAutocomplete && !is_pairs;
  const TableSpec& entity = table_at(node, is_pairs ? "src_entity_table" : "entity_table", where, options);
  if (!has_rows_as_seeds) require_key(entity, where);
  task.entity = entity.name;
  task.entity_column = has_rows_as_seeds ? yaml_text(node, "entity_col", where)
                                         : required(node, is_pairs ? "src_entity_col" : "entity_col", where);
  task.target = yaml_text(node, is_pairs ? "dst_entity_col" : "target_col", where);
  if (is_pairs) {
    const TableSpec& destination = table_at(node, "dst_entity_table", where, options);
    require_key(destination, where);
    task.destination = destination.name;
  }
  task.time = yaml_text(node, "time_col", where);
  const Json words = yaml_json(node, where);
  for (const auto& [key, word] : words.items())
    if (key != "sql") task.words[key] = word;
  for (const char* split : {"train", "val", "test"}) {
    const std::optional<TableFiles> found = find_split(folder, split);
    if (!found) continue;
    task.splits.push_back({.name = split, .open = [found = *found](ArrowArrayStream& stream) {
                             stream = stream_files(found);
                           }});
    add_sources(*found, options);
  }
  if (has_rows_as_seeds && (task.splits.empty() || entity.key.size() != 1))
    seed_from_rows(task, entity, options, where);
  return task;
}

// Returns the folders directly in a folder on disk that have a manifest, in any order.
std::vector<fs::path> task_folders(const fs::path& parent) {
  std::error_code failed;
  const fs::directory_iterator entries(parent, failed);
  if (failed && failed != std::errc::no_such_file_or_directory)
    throw InputError(
        fmt::format("{}: {}; make it a folder that can be read", parent.string(), failed.message()));
  std::vector<fs::path> folders;
  for (const fs::directory_entry& entry : entries)
    if (fs::is_regular_file(entry.path() / "manifest.yaml")) folders.push_back(entry.path());
  return folders;
}

std::vector<fs::path> task_folders_in_store(const Location& parent) {
  std::vector<fs::path> folders;
  for (const fs::path& object : list_objects(parent))
    if (object == parent.path / object.parent_path().filename() / "manifest.yaml")
      folders.push_back(object.parent_path());
  return folders;
}

}  // namespace

void add_relbench_tasks(const Location& folder, TablesOptions& options) {
  const Location parent = folder / "tasks";
  std::vector<fs::path> tasks =
      parent.is_object() ? task_folders_in_store(parent) : task_folders(parent.path);
  std::ranges::sort(tasks);
  for (const fs::path& task : tasks) options.tasks.push_back(read_task({parent.store, task}, options));
}

void add_task_folder(const Location& folder, TablesOptions& options) {
  Location named = folder;
  if (!named.is_object()) named.path = fs::absolute(named.path).lexically_normal();
  if (!named.path.has_filename()) named.path = named.path.parent_path();  // A slash at the end.
  if (!is_file(named / "manifest.yaml"))
    throw InputError(fmt::format("--task {}: has no manifest.yaml, which names the entity, time and target",
                                 folder.text()));
  TaskSpec task = read_task(named, options);
  if (task.splits.empty() && !task.cuts)
    throw InputError(fmt::format(
        "--task {}: has no table of labels, expected train.parquet or train.csv, and so for val and test",
        folder.text()));
  if (std::ranges::find(options.tasks, task.name, &TaskSpec::name) != options.tasks.end())
    throw UsageError(
        fmt::format("--task {}: a task {} is there already; rename the folder", folder.text(), task.name));
  options.tasks.push_back(std::move(task));
}

}  // namespace plimsoll
