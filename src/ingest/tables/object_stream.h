#pragma once

#include <functional>

#include "ingest/tables/table_files.h"
#include "io/arrow_stream.h"

namespace plimsoll {

/// Returns the stream that `open` returns, which reads the objects of a table, with a check: at its end, and
/// after an error, the objects must still be as they were when the table was found. This function
/// and those of the stream throw InputError for an object that changed or vanished, the errors of
/// find_object() for one that cannot be read, and those of `open`. The caller releases the stream.
ArrowArrayStream stream_objects(const TableFiles& table, const std::function<ArrowArrayStream()>& open);

}  // namespace plimsoll
