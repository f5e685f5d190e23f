#pragma once

#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "io/new_folder.h"
#include "io/npy.h"
#include "memory/heap_bytes.h"

namespace plimsoll {

/// Whether an output folder is free, holds just what is about to be written, or something else.
enum class Existing { none, same, other };

/// Compares the "provenance" of a data set at `folder` with the one given. A folder that is no data set is
/// `other`.
Existing find_existing(const std::filesystem::path& folder, const Json& provenance);

/// {"tool": "plimsoll 0.1.0", "sources": [...], "options": {...}}: what a data set was made from.
Json make_provenance(Json sources, Json options);

/// Writes a data set (docs/formats/data-set.md): a folder of .npy columns and manifest.json that is there
/// whole or not at all. Columns go to a folder with a temporary name beside the output; publish() syncs and
/// renames it. Without publish() the destructor removes it. Not thread-safe.
class DataSetWriter {
 public:
  /// `replace` lets publish() exchange an existing folder atomically and then delete the old one.
  DataSetWriter(const std::filesystem::path& folder, bool replace, FileSystem& files = FileSystem::disk())
      : folder_(folder, replace, files) {}

  /// A new column NAME.npy; the reference stays valid. `row` as in NpyWriter.
  template <typename T>
  NpyWriter& column(const std::string& name, const std::vector<int64_t>& row = {}) {
    return add(name, npy_dtype<T>(), row);
  }

  /// Writes a column that is whole again, as another dtype: `fill` gets what it was, mapped, and the writer.
  void rewrite(const std::string& name, const char* dtype, const std::vector<int64_t>& row,
               const std::function<void(const NpyView& from, NpyWriter& to)>& fill);

  /// Where the columns are until publish(): also the place for scratch files, which must be gone by then.
  const std::filesystem::path& path() const { return folder_.path(); }
  FileSystem& files() const { return folder_.files(); }

  /// Completes `manifest` with the columns, writes it, and makes the data set appear.
  /// Errors: Failure (disk; the output exists and is not to be replaced), InputError (a text that is not
  /// UTF-8).
  void publish(Json manifest, int format_version = 1);

 private:
  NpyWriter& add(const std::string& name, const char* dtype, const std::vector<int64_t>& row);

  NewFolder folder_;
  std::deque<std::pair<std::string, NpyWriter>> columns_;
};

/// A data set opened for reading: its manifest and its columns, mapped. Immutable, so any number of threads
/// may read.
class DataSetView {
 public:
  /// Errors: InputError when the folder is no data set, is of another kind or a newer format version, or when
  /// a column is missing or is not what the manifest says. `kind` "" accepts any.
  explicit DataSetView(std::filesystem::path folder, const std::string& kind = "");

  const std::filesystem::path& folder() const { return folder_; }
  const Json& manifest() const { return manifest_; }
  std::string kind() const { return manifest_.at("kind"); }
  const std::map<std::string, NpyView>& columns() const { return columns_; }
  bool has_column(const std::string& name) const { return columns_.contains(name); }
  /// What makes two data sets the same: kind, checksum of each column, XXH3-64 of the table `recordings`.
  Json identity() const;

  /// The elements of a column whose rows have the shape `row`. Errors: InputError (missing, other dtype or
  /// shape).
  template <typename T>
  std::span<const T> column(const std::string& name, const std::vector<int64_t>& row = {}) const {
    return require(name, row).template values<T>();
  }

 private:
  const NpyView& require(const std::string& name, const std::vector<int64_t>& row) const;

  std::filesystem::path folder_;
  Charge charge_{Tag::columns};  // of the manifest
  Json manifest_;
  std::map<std::string, NpyView> columns_;
};

/// The manifest of a folder, parsed. `charge` holds what it takes; without one it is in the ledger only while
/// it is read. Errors: InputError, BudgetExceeded.
Json read_manifest(const std::filesystem::path& folder, Charge& charge);
Json read_manifest(const std::filesystem::path& folder);

/// What kind of data set a folder holds: "frames", "graph_set", "graph", ... Errors: as read_manifest.
std::string kind_of(const std::filesystem::path& folder);

}  // namespace plimsoll
