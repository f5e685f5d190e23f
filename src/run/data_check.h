#pragma once

#include <atomic>
#include <filesystem>

#include "base/json.h"
#include "run/run_folder.h"

namespace plimsoll {

/// Options for checking a data set against its manifest before a run reads it.
struct DataCheck {
  bool full = false;  ///< Compare all checksums, even in a large data set.
  /// Require that the data set, including its manifest, is unchanged since the run read it.
  bool resume = false;
  /// If set to true, the check throws Interrupted; may be null.
  const std::atomic<bool>* interrupt = nullptr;
};

/// Checks a data set with check_columns(). In a large data set, columns are skipped if their files have not
/// changed since the run's manifest recorded them. Returns the entry "read" for the run's manifest. Errors:
/// InputError, Interrupted.
Json check_data(const std::filesystem::path& data, const RunFolder& run, const DataCheck& check);

}  // namespace plimsoll
