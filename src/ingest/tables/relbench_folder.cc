#include "ingest/tables/relbench_folder.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/error.h"
#include "ingest/tables/file_stream.h"
#include "ingest/tables/relbench_tasks.h"
#include "ingest/tables/relbench_yaml.h"
#include "ingest/tables/table_sources.h"

namespace plimsoll {
namespace {

// Returns the columns of a key, which is one name or a list of names.
std::vector<std::string> columns_at(const YAML::Node& node, const char* key, const std::string& where) {
  const YAML::Node found = node[key];
  if (!found || !found.IsSequence()) {
    const std::string one = yaml_text(node, key, where);
    return one.empty() ? std::vector<std::string>{} : std::vector<std::string>{one};
  }
  std::vector<std::string> columns;
  for (const YAML::Node& column : found) columns.push_back(column.Scalar());
  return columns;
}

TableSpec read_table(const std::string& name, const YAML::Node& node, const Location& folder,
                     const std::string& path, TablesOptions& options) {
  const std::string where = fmt::format("{}: table '{}'", path, name);
  if (!node.IsMap()) throw InputError(where + ": is not a map; expected pkey, time_col and fkeys");
  TableSpec table{.name = name, .open = {}};
  table.key = columns_at(node, "pkey", where);
  table.time = yaml_text(node, "time_col", where);
  if (const YAML::Node keys = node["fkeys"]; keys && !keys.IsNull()) {
    if (!keys.IsMap()) throw InputError(where + ": fkeys is not a map; expected COLUMN: TABLE");
    for (const auto& key : keys) table.foreign_keys.push_back({{key.first.Scalar()}, key.second.Scalar()});
  }
  const Location file = folder / "db" / (name + ".parquet");
  const std::optional<TableFiles> found =
      name.find('/') == std::string::npos ? find_table_file(file) : std::nullopt;
  if (!found)
    throw InputError(fmt::format("{}: has no file {}; fetch the data set again", where, file.text()));
  add_sources(*found, options);
  table.files = 1;
  table.open = [found = *found](ArrowArrayStream& stream) { stream = stream_files(found); };
  return table;
}

}  // namespace

void add_relbench_folder(const Location& folder, TablesOptions& options) {
  const Location file = folder / "manifest.yaml";
  const std::string path = file.text();
  if (!is_file(file))
    throw InputError(
        folder.text() +
        ": has no manifest.yaml, so it is not a data set of RelBench; name its tables with --table");
  const YAML::Node manifest = load_yaml_map(file);
  add_source(file, options);
  const YAML::Node tables = manifest["tables"];
  if (!tables || !tables.IsMap()) throw InputError(path + ": has no tables; expected a map of them");
  for (const auto& table : tables)
    options.tables.push_back(read_table(table.first.Scalar(), table.second, folder, path, options));
  for (const char* word : {"name", "val_timestamp", "test_timestamp"})
    if (const std::string text = yaml_text(manifest, word, path); !text.empty()) options.words[word] = text;
  add_relbench_tasks(folder, options);
}

}  // namespace plimsoll
