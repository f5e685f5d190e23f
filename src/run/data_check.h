#pragma once

#include <atomic>
#include <filesystem>

#include "base/json.h"
#include "run/run_folder.h"

namespace plimsoll {

/// How a run compares a data set with its manifest before it reads it.
struct DataCheck {
  bool full = false;    ///< checksums of all columns, however large
  bool resume = false;  ///< what the run reads has to be what it read before, its manifest too
  const std::atomic<bool>* interrupt = nullptr;
};

/// Checks a data set as check_columns() does; the run's manifest knows what a large one was like when it was
/// read before. Gives what the run's manifest has as "read". Errors: InputError, Interrupted.
Json check_data(const std::filesystem::path& data, const RunFolder& run, const DataCheck& check);

}  // namespace plimsoll
