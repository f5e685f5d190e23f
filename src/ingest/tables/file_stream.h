#pragma once

#include "ingest/tables/table_files.h"
#include "io/arrow_stream.h"

namespace plimsoll {

/// Returns the rows of files with the same columns, and the columns of their partitions, as one stream. The
/// stream opens one file at a time; the caller releases it. CSV files are read twice and have no partitions.
/// Objects must stay as they were when the table was found. This function and those of the stream throw the
/// errors of open_arrow_file(), and InputError for a file with other columns or of another form.
ArrowArrayStream stream_files(const TableFiles& table);

}  // namespace plimsoll
