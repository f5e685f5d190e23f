#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "can/capture/capture_format.h"
#include "can/frames/frames.h"
#include "store/shard.h"

namespace plimsoll {

/// Options of ingest_can().
struct IngestOptions {
  std::vector<std::filesystem::path> sources = {};
  std::filesystem::path out = {};
  bool force = false;      ///< Replace an existing output.
  std::string split = {};  ///< Argument `split` of find_captures().
  FormatOptions format = {};
  bool skip_errors = false;   ///< Leave bad lines of texts out and count them instead of refusing the file.
  int64_t skip_limit = 1000;  ///< Maximum bad lines per file that are left out. More are an error.
  Shard shard = {};           ///< Shard of the captures to read.
  int threads = 1;
};

struct IngestResult {
  bool already_there = false;  ///< The output was up to date, so nothing was done.
  std::vector<Recording> recordings;
  int64_t source_bytes = 0;  ///< Bytes of the source files. A pipe counts as 0.
  int64_t text_bytes = 0;    ///< Bytes after decompression; 0 if nothing was done.
};

/// Reads captures into a `frames` set. Chunks of at most 1 MiB of text are read in order, parsed on `threads`
/// threads, across and within files, and written in order. Memory grows with the number of threads, not with
/// the input. The output does not depend on the number of threads.
///
/// `progress`, which must not be null, receives the number of source bytes read so far and in total (without
/// pipes). It is called by one thread at a time. With kChosenPayload the captures are read a second time if a
/// frame is too long for 8 bytes; the progress then starts again.
///
/// If the output was made from the same sources with the same options, nothing is done. Errors: InputError
/// with file, line and column, UsageError for wrong options, BudgetExceeded and Failure. On an error the
/// output is unchanged.
IngestResult ingest_can(const IngestOptions& options, const std::function<void(int64_t, int64_t)>& progress);

}  // namespace plimsoll
