#pragma once

#include <atomic>
#include <filesystem>

#include "base/json.h"
#include "run/run_folder.h"

namespace plimsoll {

/// Options for checking a data set against its manifest before a run reads it.
struct DataCheck {
  bool full = false;  ///< Compare all checksums, even in a large data set.
  /// Require that the manifest of the data set is the one that the run's manifest records, if it records one.
  bool resume = false;
  /// The check throws Interrupted when this flag becomes true; null: there is no flag.
  const std::atomic<bool>* interrupt = nullptr;
};

/// Checks a data set with check_columns(). In a large data set, columns are skipped if their files have not
/// changed since the run's manifest recorded their state. If all checksums were compared, also checks the
/// values as the data set's kind requires. Shows progress. Returns the entry "read" for the run's manifest.
/// Errors: InputError, Interrupted, Failure.
Json check_data(const std::filesystem::path& data, const RunFolder& run, const DataCheck& check);

}  // namespace plimsoll
