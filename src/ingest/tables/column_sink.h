#pragma once

#include <memory>
#include <string>

#include "base/json.h"
#include "ingest/tables/arrow_type.h"
#include "ingest/tables/column_files.h"
#include "ingest/tables/values.h"

namespace plimsoll {

/// Writes one column of a node type while its table is read, and collects the data for its entry in the
/// manifest. Not thread-safe. Errors of all members: Failure (disk), BudgetExceeded, InputError.
class ColumnSink {
 public:
  virtual ~ColumnSink() = default;
  /// Appends rows. A category must not be given more rows once it is left out.
  virtual void add(const Values& values) = 0;
  /// Whether the column is left out, so that its values need not be read.
  virtual bool is_left_out() const { return false; }
  /// Completes the files of the column in the narrowest type that keeps every value, and returns its entry in
  /// the manifest: {"name", "meaning", "column", ...}, or {"name", "reason"} if it is left out. Call it once.
  virtual Json finish() = 0;
};

/// Returns the writer of a column. `meaning` replaces the inferred one unless it is empty: number, category,
/// time:UNIT or skip. `where` names the column in messages. Errors: UsageError for an unknown meaning, or
/// one that the values cannot have.
std::unique_ptr<ColumnSink> make_column_sink(ColumnFiles files, const ArrowType& type,
                                             const std::string& meaning, const std::string& where);

}  // namespace plimsoll
