#include "ingest/tables/relbench_folder.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "ingest/tables/file_stream.h"
#include "ingest/tables/relbench_tasks.h"
#include "ingest/tables/relbench_yaml.h"

namespace plimsoll {
namespace fs = std::filesystem;
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

TableSpec read_table(const std::string& name, const YAML::Node& node, const fs::path& folder,
                     const std::string& path) {
  const std::string where = fmt::format("{}: table '{}'", path, name);
  if (!node.IsMap()) throw InputError(where + ": is not a map; expected pkey, time_col and fkeys");
  TableSpec table{.name = name, .open = {}};
  table.key = columns_at(node, "pkey", where);
  table.time = yaml_text(node, "time_col", where);
  if (const YAML::Node keys = node["fkeys"]; keys && !keys.IsNull()) {
    if (!keys.IsMap()) throw InputError(where + ": fkeys is not a map; expected COLUMN: TABLE");
    for (const auto& key : keys) table.foreign_keys.push_back({{key.first.Scalar()}, key.second.Scalar()});
  }
  const fs::path file = folder / "db" / (name + ".parquet");
  std::error_code unreadable;  // A name that the system does not accept is not a file either.
  if (name.find('/') != std::string::npos || !fs::is_regular_file(file, unreadable))
    throw InputError(fmt::format("{}: has no file {}; fetch the data set again", where, file.string()));
  table.files = 1;
  table.open = [file](ArrowArrayStream& stream) {
    stream = stream_files({.root = file.parent_path(), .files = {file}});
  };
  return table;
}

}  // namespace

void add_relbench_folder(const fs::path& folder, TablesOptions& options) {
  const fs::path path = folder / "manifest.yaml";
  if (!fs::is_regular_file(path))
    throw InputError(
        folder.string() +
        ": has no manifest.yaml, so it is not a data set of RelBench; name its tables with --table");
  const YAML::Node manifest = load_yaml_map(path);
  options.files.push_back(path);
  const YAML::Node tables = manifest["tables"];
  if (!tables || !tables.IsMap()) throw InputError(path.string() + ": has no tables; expected a map of them");
  for (const auto& table : tables) {
    options.tables.push_back(read_table(table.first.Scalar(), table.second, folder, path.string()));
    options.files.push_back(folder / "db" / (options.tables.back().name + ".parquet"));
  }
  for (const char* word : {"name", "val_timestamp", "test_timestamp"})
    if (const std::string text = yaml_text(manifest, word, path.string()); !text.empty())
      options.words[word] = text;
  add_relbench_tasks(folder, options);
}

}  // namespace plimsoll
