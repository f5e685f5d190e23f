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
  /// The check throws Interrupted when this flag becomes true; null: there is no flag.
  const std::atomic<bool>* interrupt = nullptr;
};

/// Checks a data set with check_columns(). In a large data set, columns are skipped if their files have not
/// changed since the run's manifest recorded their state. Returns the entry "read" for the run's manifest.
/// Errors: InputError, Interrupted.
Json check_data(const std::filesystem::path& data, const RunFolder& run, const DataCheck& check);

}  // namespace plimsoll
