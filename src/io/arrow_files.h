#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "io/arrow_stream.h"

namespace plimsoll {

/// Loads the plugin with libarrow, so that its own memory is part of what the process holds before its work.
/// Errors: Failure (this build has no Arrow, or another major version).
void load_arrow();

/// Opens a Parquet or Arrow IPC file, recognised by its first bytes, as a stream of batches of at most `rows`
/// rows, in `stream`, which the caller releases. Arrow's buffers are entered in the ledger of the process
/// under Tag::ingest. Errors: InputError (no such file, or not readable as such), BudgetExceeded, Failure
/// (this build has no Arrow).
void open_arrow_file(const std::filesystem::path& path, int64_t rows, ArrowArrayStream& stream);

/// Opens CSV files with the same columns, .csv or .csv.gz, as one such stream. Types are found from the
/// values of all files, which are read twice. Errors: those of open_arrow_file().
void open_csv_files(const std::vector<std::filesystem::path>& paths, int64_t rows, ArrowArrayStream& stream);

/// Throws the refusal of the ledger because of which a call of a stream of open_arrow_file() failed on this
/// thread, and forgets it, or Interrupted once the process was asked to stop; returns if there was neither.
void throw_if_arrow_refused();

}  // namespace plimsoll
