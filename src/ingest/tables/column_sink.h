#pragma once

#include <memory>
#include <string>

#include "base/json.h"
#include "ingest/tables/arrow_type.h"
#include "ingest/tables/values.h"
#include "store/data_set.h"

namespace plimsoll {

/// Writes one column of a node type while its table is read, and collects the facts for its entry in the
/// manifest. Not thread-safe. Errors of all members: Failure (disk), BudgetExceeded, InputError.
class ColumnSink {
 public:
  virtual ~ColumnSink() = default;
  virtual void add(const Values& values) = 0;
  /// Whether the column is left out, so that its values need not be read.
  virtual bool is_left_out() const { return false; }
  /// Completes the files of the column in the narrowest type that keeps every value, and returns its entry in
  /// the manifest: {"name", "meaning", "column", ...}, or {"name", "reason"} if it is left out.
  virtual Json finish() = 0;
};

/// Returns the writer of a column of `node_type`. `meaning` replaces the inferred meaning unless it is empty:
/// number, category or time:UNIT. Errors: UsageError for a meaning that the values cannot have.
std::unique_ptr<ColumnSink> make_column_sink(DataSetWriter& set, const std::string& node_type,
                                             const std::string& name, const ArrowType& type,
                                             const std::string& meaning);

}  // namespace plimsoll
