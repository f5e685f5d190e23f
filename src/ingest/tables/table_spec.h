#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "io/arrow_stream.h"

namespace plimsoll {

/// Columns of one table that hold keys of another table.
struct ForeignKey {
  std::vector<std::string> columns;
  std::string table;

  /// Returns the name of the edge type, such as "f2p_user_id"; names of several columns are joined by "+".
  std::string edge_name() const;
};

/// One table of the input, which becomes a node type or, as an event table, an edge type.
struct TableSpec {
  std::string name;
  /// Opens the rows as a stream, which the caller releases. Called once.
  std::function<void(ArrowArrayStream&)> open;
  int64_t files = 0;                  ///< Number of its files; 0 for a stream of a program.
  std::vector<std::string> key = {};  ///< Columns of its key; empty without one.
  std::string time = {};              ///< Column with the time from which a row is known; empty without one.
  std::string time_unit = {};         ///< Unit of a time column of integers: s, ms, us or ns.
  std::vector<ForeignKey> foreign_keys = {};
  bool as_edge = false;  ///< Each row is an edge from the row of its first foreign key to that of its second.
  std::string edge = {};  ///< Name of that edge type; empty for the name of the table.

  const std::string& edge_name() const { return edge.empty() ? name : edge; }
  /// Meanings that replace the inferred ones, by column: number, category, time:UNIT or skip.
  std::map<std::string, std::string> meanings = {};
};

/// Throws UsageError for specs that cannot be a graph: two tables of one name, a foreign key to no table or
/// to a table without a key, two foreign keys of the same columns, an edge table with a key or without
/// exactly two foreign keys.
void check_specs(const std::vector<TableSpec>& tables);

}  // namespace plimsoll
