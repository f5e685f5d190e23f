#include "ingest/tables/table_spec.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/error.h"

namespace plimsoll {
namespace {

const TableSpec* find_table(const std::vector<TableSpec>& tables, const std::string& name) {
  const auto found = std::ranges::find(tables, name, &TableSpec::name);
  return found == tables.end() ? nullptr : &*found;
}

void check_foreign_keys(const TableSpec& table, const std::vector<TableSpec>& tables) {
  std::set<std::string> names;
  for (const ForeignKey& foreign : table.foreign_keys) {
    const std::string where =
        fmt::format("table '{}', foreign key {}", table.name, fmt::join(foreign.columns, ", "));
    const TableSpec* const target = find_table(tables, foreign.table);
    if (target == nullptr) throw UsageError(fmt::format("{}: there is no table '{}'", where, foreign.table));
    if (target->key.empty())
      throw UsageError(
          fmt::format("{}: table '{}' has no key to refer to; name its key", where, foreign.table));
    if (target->key.size() != foreign.columns.size())
      throw UsageError(
          fmt::format("{}: the key of table '{}' has {} columns", where, foreign.table, target->key.size()));
    if (!names.insert(foreign.edge_name()).second)
      throw UsageError(fmt::format("{}: is given twice; leave one out", where));
  }
}

// Source, name and target of an edge type.
using EdgeTypeName = std::array<std::string, 3>;

// Refuses two edge types with the same name, because their files would have the same names.
void check_edge_types(const std::vector<TableSpec>& tables) {
  std::set<EdgeTypeName> names;
  const auto add = [&](const EdgeTypeName& type) {
    if (!names.insert(type).second || !names.insert({type[2], "rev_" + type[1], type[0]}).second)
      throw UsageError(
          fmt::format("two edge types are called {}; rename a table or a column", fmt::join(type, " ")));
  };
  for (const TableSpec& table : tables) {
    if (table.as_edge) add({table.foreign_keys[0].table, table.edge_name(), table.foreign_keys[1].table});
    if (table.as_edge) continue;
    for (const ForeignKey& key : table.foreign_keys) add({table.name, key.edge_name(), key.table});
  }
}

}  // namespace

std::string ForeignKey::edge_name() const {
  return fmt::format("f2p_{}", fmt::join(columns, "+"));
}

void check_specs(const std::vector<TableSpec>& tables) {
  if (tables.empty()) throw UsageError("there are no tables; name one or more");
  for (const TableSpec& table : tables) {
    if (table.name.empty()) throw UsageError("a table has no name");
    if (find_table(tables, table.name) != &table)
      throw UsageError(fmt::format("two tables are named '{}'; rename one", table.name));
    check_foreign_keys(table, tables);
    if (table.as_edge && (!table.key.empty() || table.foreign_keys.size() != 2))
      throw UsageError(
          fmt::format("table '{}': is to be an edge type, which has no key and two foreign keys; it has "
                      "{} and {} foreign keys",
                      table.name, table.key.empty() ? "no key" : "a key", table.foreign_keys.size()));
  }
  check_edge_types(tables);
}

}  // namespace plimsoll
