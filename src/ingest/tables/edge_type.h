#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/json.h"
#include "ingest/tables/key_index.h"
#include "ingest/tables/table_scratch.h"
#include "ingest/tables/table_spec.h"
#include "store/data_set.h"

namespace plimsoll {

/// The properties of a node type on which its edges depend.
struct NodeTypeState {
  std::string name;
  bool is_read = false;  ///< Whether all its rows have been read.
  int64_t nodes = 0;
  /// Name of the node type's column of times in the data set; empty: no times.
  std::string time_column = {};
  bool times_rise = true;                ///< Whether the rows are sorted by time.
  std::unique_ptr<KeyIndex> index = {};  ///< Null if the table has no key.
};

/// The edges of one foreign key: from each row to the row that its foreign key names. Records are kept sorted
/// on disk until the rows of both tables are known. Not thread-safe. Errors: Failure (disk), BudgetExceeded,
/// InputError.
class EdgeType {
 public:
  /// `number` must be unique in the scratch folder. `scratch` and the states must outlive this object.
  EdgeType(const TableScratch& scratch, int number, const ForeignKey& key, const NodeTypeState& source,
           const NodeTypeState& target, const KeyColumns& columns);

  /// Adds the foreign key of row `row` of the source.
  void add(const KeyValue& key, int64_t row);
  /// Whether both tables have been read, so that write() may be called.
  bool is_ready() const { return source_.is_read && target_.is_read; }
  bool is_written() const { return is_written_; }
  /// Writes the lists of the target's nodes, sorted by (time, source), and with `reverse` also those of the
  /// reverse edge type. Appends the entries for the manifest to `entries`. Call it once, when is_ready().
  /// Errors: InputError if the types of the keys differ.
  void write(DataSetWriter& set, bool reverse, Json& entries);
  /// Number of edges, and of foreign keys without a row that has this key; valid after write().
  int64_t edges() const { return edges_; }
  int64_t dangling() const { return dangling_; }

 private:
  void add_edge(int64_t target, uint32_t row);
  void find_targets();
  void sort_by_time(const DataSetWriter& set);
  std::unique_ptr<ExternalSort> sort(const char* name, size_t payload) const;
  static void write_lists(DataSetWriter& set, const std::string& prefix, const ExternalSort& edges,
                          bool in_payload, int64_t nodes);

  const TableScratch& scratch_;
  std::string scratch_name_, name_, types_;
  const NodeTypeState& source_;
  const NodeTypeState& target_;
  bool is_direct_;  // Whether targets are known when rows are read.
  bool is_number_;
  bool is_written_ = false;
  int64_t edges_ = 0, missing_ = 0, dangling_ = 0;
  std::unique_ptr<ExternalSort> by_key_;     // Key: the target's key. Payload: KeyRecord of the source's row.
  std::unique_ptr<ExternalSort> by_target_;  // Key: target and source, 32 bits each.
};

}  // namespace plimsoll
