#pragma once

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "io/external_sort.h"

namespace plimsoll {

/// Returns the bytes of the ledger's free memory that the sorts of an ingest may use. The rest is for the
/// columns being written and for text that is parsed on `threads` threads.
int64_t memory_for_sorts(int threads);

/// The folder for the runs of an ingest's sorts, and the total memory of the sorts.
struct GraphScratch {
  std::filesystem::path folder;
  FileSystem& files;
  int64_t memory;
  /// Called now and then by long loops; may throw to stop the work.
  std::function<void()> tick = [] {};

  /// Calls tick() for some of the records of a loop; `record` is the index of the record.
  void tick_at(int64_t record) const {
    if (record % (int64_t{1} << 18) == 0) tick();
  }

  // Shares of the memory, in percent. Two sorts of edges exist at the same time, one being read and one being
  // filled, together with one sort of all IDs and a few sorts with one record per node. At the end, only the
  // sort of the rows of nodes exists (kAlone).
  static constexpr int kEdges = 30, kIds = 20, kNodes = 4, kAlone = 70;

  /// Returns the options of a sort that uses `percent` of the memory. `name` must be unique in the folder.
  ExternalSort::Options options(const std::string& name, int percent, size_t payload, int64_t max) const {
    return {.folder = folder,
            .name = name,
            .payload = payload,
            .memory = memory / 100 * percent,
            .max = max,
            .unique = false,
            .files = &files,
            .tick = tick};
  }
  std::unique_ptr<ExternalSort> sort(const std::string& name, int percent, size_t payload,
                                     int64_t max) const {
    return std::make_unique<ExternalSort>(options(name, percent, payload, max));
  }
  /// Makes a sort that keeps only the first record with each key.
  std::unique_ptr<ExternalSort> unique_sort(const std::string& name, int percent, int64_t max) const {
    ExternalSort::Options unique = options(name, percent, 0, max);
    unique.unique = true;
    return std::make_unique<ExternalSort>(unique);
  }
};

}  // namespace plimsoll
