#include "ingest/tables/table_sources.h"

#include "base/error.h"
#include "ingest/text/source_hashes.h"

namespace plimsoll {

void add_sources(const TableFiles& table, TablesOptions& options) {
  for (size_t file = 0; file < table.files.size(); ++file) {
    if (table.store.empty())
      options.files.push_back(table.files[file]);
    else
      options.objects.push_back({table.files[file].filename().string(), table.versions[file]});
  }
}

void add_source(const Location& location, TablesOptions& options) {
  const std::optional<TableFiles> found = find_table_file(location);
  if (!found) throw InputError(location.text() + ": no such file");
  add_sources(*found, options);
}

Json sources_of(const TablesOptions& options) {
  Json sources = source_hashes(options.files).take();
  if (sources.is_null()) sources = Json::array();
  for (const SourceObject& object : options.objects)
    sources.push_back(
        {{"source", object.name}, {"bytes", object.version.bytes}, {"etag", object.version.etag}});
  if (!sources.empty()) return sources;
  for (const TableSpec& table : options.tables)
    sources.push_back({{"kind", "arrow stream"}, {"source", table.name}});
  return sources;
}

}  // namespace plimsoll
