#pragma once

#include <atomic>
#include <filesystem>

#include "base/json.h"
#include "run/run_folder.h"

namespace plimsoll {

/// How a run compares a data set with its manifest before it reads it.
struct DataCheck {
  bool full = false;  ///< Compare the checksums of all columns, however large.
  /// Require that the data set, including its manifest, is unchanged since the run read it.
  bool resume = false;
  const std::atomic<bool>* interrupt = nullptr;
};

/// Checks a data set as check_columns() does. The run's manifest contains the state of a large data set when
/// it was last read. Returns the entry "read" for the run's manifest. Errors: InputError, Interrupted.
Json check_data(const std::filesystem::path& data, const RunFolder& run, const DataCheck& check);

}  // namespace plimsoll
