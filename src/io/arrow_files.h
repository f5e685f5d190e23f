#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "io/arrow_stream.h"

namespace plimsoll {

/// Loads the plugin (io/arrow_plugin.h) and libarrow. Called before the work, so that their memory counts as
/// memory that the process already held. Errors: Failure (this build has no Arrow, or another major version).
void load_arrow();

/// Opens a Parquet or Arrow IPC file, recognised by its first bytes, as a stream of batches of at most `rows`
/// rows. The caller releases `stream`. Arrow's buffers are entered in the ledger of the process under
/// Tag::ingest. Errors: InputError (no such file, or not readable as one of the two), BudgetExceeded,
/// Interrupted, Failure (this build has no Arrow).
void open_arrow_file(const std::filesystem::path& path, int64_t rows, ArrowArrayStream& stream);

/// Opens CSV files (.csv or .csv.gz) with the same columns as one such stream. Types are inferred from the
/// values of all files, which are therefore read twice. Errors: those of open_arrow_file().
void open_csv_files(const std::vector<std::filesystem::path>& paths, int64_t rows, ArrowArrayStream& stream);

/// Call it after a call on a stream of open_arrow_file() or open_csv_files() has failed. If the process was
/// asked to stop, throws Interrupted. If the ledger refused memory to that call on this thread, throws the
/// BudgetExceeded of the refusal, once. Otherwise returns.
void throw_if_arrow_refused();

}  // namespace plimsoll
