#pragma once

#include <cstdint>
#include <vector>

#include "io/arrow_stream.h"
#include "io/location.h"

namespace plimsoll {

/// Loads the plugin and libarrow. Called before the work, so that their memory counts as memory that the
/// process already held. Errors: Failure (this build has no Arrow, or another major version).
void load_arrow();

/// Opens a Parquet or Arrow IPC file, recognised by its first bytes, as a stream of batches of at most `rows`
/// rows. The caller releases `stream`. Arrow's buffers are entered in the ledger of the process under
/// Tag::ingest. Errors: InputError (no such file, or not readable as one of the two), BudgetExceeded, Failure
/// (this build has no Arrow), and those of find_object() for an object.
void open_arrow_file(const Location& file, int64_t rows, ArrowArrayStream& stream);

/// Opens CSV files (.csv or .csv.gz) with the same columns, all on disk or all in one store, as one such
/// stream. Types are inferred from the values of all files, which are therefore read twice. Errors: those of
/// open_arrow_file().
void open_csv_files(const std::vector<Location>& files, int64_t rows, ArrowArrayStream& stream);

}  // namespace plimsoll
