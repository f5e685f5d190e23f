#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "can/capture/capture_format.h"
#include "can/frames/frames.h"
#include "store/shard.h"

namespace plimsoll {

/// What to ingest, how and where to.
struct IngestOptions {
  std::vector<std::filesystem::path> sources = {};
  std::filesystem::path out = {};
  bool force = false;      ///< replace an existing output
  std::string split = {};  ///< of captures that are named themselves or lie directly in a named folder
  FormatOptions format = {};
  bool skip_errors = false;   ///< leave bad lines out and count them, instead of refusing the file
  int64_t skip_limit = 1000;  ///< bad lines after which a file is refused all the same
  Shard shard = {};           ///< which of the captures
  int threads = 1;
};

struct IngestResult {
  bool already_there = false;  ///< the output held just these sources: nothing was done
  std::vector<Recording> recordings;
  int64_t source_bytes = 0;
  int64_t text_bytes = 0;  ///< after decompression; 0 when nothing was done
};

/// Reads captures into a `frames` set: pieces of at most 1 MiB of text are read in order, parsed on `threads`
/// threads, across and within files, and written in order; memory grows with the threads, not with the input,
/// and the output is the same for any number of them. `progress` gets the bytes of source files done and in
/// all. Errors: InputError (file, line and column), UsageError (options), BudgetExceeded; the output is then
/// as it was.
IngestResult ingest_can(const IngestOptions& options, const std::function<void(int64_t, int64_t)>& progress);

}  // namespace plimsoll
