#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "store/frames.h"

namespace plimsoll {

/// What to ingest and where to.
struct IngestOptions {
  std::vector<std::filesystem::path> sources;
  std::filesystem::path out;
  bool force = false;  ///< replace an existing output
};

struct IngestResult {
  bool already_there = false;  ///< the output held just these sources: nothing was done
  std::vector<Recording> recordings;
  int64_t source_bytes = 0;
  int64_t text_bytes = 0;  ///< after decompression; 0 when nothing was done
};

/// Reads captures into a `frames` set, in pieces of at most 1 MiB of text: memory does not grow with the
/// input. `progress` gets the bytes of source files done and in all. Errors: InputError (file, line and
/// column) and BudgetExceeded; the output is then as it was before.
IngestResult ingest_can(const IngestOptions& options, const std::function<void(int64_t, int64_t)>& progress);

}  // namespace plimsoll
