#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "io/external_sort.h"

namespace plimsoll {

/// The folder for the runs of the sorts in an ingest of tables, and the bytes of memory of each sort.
struct TableScratch {
  std::filesystem::path folder;
  FileSystem* files = nullptr;
  int64_t memory = 0;

  /// Makes a sort. `name` must be unique in the folder.
  std::unique_ptr<ExternalSort> sort(const std::string& name, size_t payload) const {
    return std::make_unique<ExternalSort>(ExternalSort::Options{
        .folder = folder, .name = name, .payload = payload, .memory = memory, .files = files});
  }
};

}  // namespace plimsoll
