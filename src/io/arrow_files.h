#pragma once

#include <cstdint>
#include <filesystem>

#include "io/arrow_stream.h"

namespace plimsoll {

/// Loads the plugin with libarrow, so that the memory of these libraries counts as memory that the process
/// held before its work. Errors: Failure (this build has no Arrow, or another major version).
void load_arrow();

/// Opens a Parquet or Arrow IPC file, recognised by its first bytes, as a stream of batches of at most `rows`
/// rows. The caller releases `stream`. Arrow's buffers are entered in the ledger of the process under
/// Tag::ingest. Errors: InputError (no such file, or not readable as one of the two), BudgetExceeded, Failure
/// (this build has no Arrow).
void open_arrow_file(const std::filesystem::path& path, int64_t rows, ArrowArrayStream& stream);

/// Call it after a call of a stream of open_arrow_file() failed on this thread. If the ledger refused memory
/// to that call, throws the refusal and forgets it; otherwise returns.
void throw_if_arrow_refused();

}  // namespace plimsoll
