#pragma once

#include <memory>
#include <string>

#include "ingest/tables/column_sink.h"
#include "ingest/tables/task_spec.h"

namespace plimsoll {

/// Returns the writer of the targets of one split of a task. Texts, and lists of texts or whole numbers, are
/// categories, however many there are. `where` names the column in messages. Errors: those of
/// make_column_sink().
std::unique_ptr<ColumnSink> make_target_sink(DataSetWriter& set, const TaskSpec& task,
                                             const std::string& split, const ArrowType& type,
                                             const std::string& where);

/// Completes the targets, and returns their entry for the manifest. Errors: InputError if their type cannot
/// be stored.
Json finish_targets(ColumnSink& sink, const std::string& where);

}  // namespace plimsoll
