#pragma once

#include <functional>

#include "ingest/tables/table_files.h"
#include "io/arrow_stream.h"

namespace plimsoll {

/// Returns the stream that `open` returns, which reads the objects of a table, with a check: at its end, and
/// after an error, the objects must still be as they were when the table was found. Its functions throw
/// InputError for an object that changed or vanished, and for one that cannot be read the errors of
/// find_object(). The caller releases it.
ArrowArrayStream stream_objects(const TableFiles& table, const std::function<ArrowArrayStream()>& open);

}  // namespace plimsoll
