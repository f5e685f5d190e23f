#pragma once

#include <filesystem>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "io/new_folder.h"
#include "io/npy.h"
#include "memory/heap_bytes.h"

namespace plimsoll {

/// State of an output folder: it does not exist, has exactly the content about to be written, or has other
/// content.
enum class Existing { none, same, other };

/// Compares the "provenance" of a data set at `folder` with `provenance`. Returns `other` for a folder that
/// is not a data set, or has a damaged manifest. Errors: Failure (the manifest cannot be read),
/// BudgetExceeded.
Existing find_existing(const std::filesystem::path& folder, const Json& provenance);

/// Returns the origin of a data set: {"tool": "plimsoll 0.1.0", "sources": [...], "options": {...}}.
Json make_provenance(Json sources, Json options);

class DataSetView;

/// Writes a data set (docs/formats/data-set.md): a folder of .npy columns and manifest.json that appears
/// whole or not at all. Columns are written to a folder with a temporary name next to the output; publish()
/// syncs and renames it. Without publish() the destructor removes it. Not thread-safe. Errors of all members:
/// Failure (disk), BudgetExceeded.
class DataSetWriter {
 public:
  /// `replace` lets publish() exchange an existing folder atomically and then delete the old one.
  DataSetWriter(const std::filesystem::path& folder, bool replace, FileSystem& files = FileSystem::disk())
      : folder_(folder, replace, files) {}

  /// Adds a column NAME.npy, whose name must be new. The reference stays valid until finish(), discard() or
  /// publish(). `row` is as in NpyWriter.
  template <typename T>
  NpyWriter& column(const std::string& name, const std::vector<int64_t>& row = {}) {
    return add(name, npy_dtype<T>(), row);
  }

  /// Completes a column before publish(), once, to free its buffer and close its file early. The reference
  /// from column() becomes invalid.
  void finish(const std::string& name);
  /// Adds the column `name` of another data set without reading it (shared_column.h).
  void share(const DataSetView& from, const std::string& name, const std::function<void()>& tick);
  /// Removes a column.
  void discard(const std::string& name);

  /// Rewrites a column with another dtype or order. If finish() was called for it, call finish() again.
  /// `fill` receives the mapped old column and the writer of the new one, to which it writes all rows.
  /// Errors: also those of `fill`.
  void rewrite(const std::string& name, const char* dtype, const std::vector<int64_t>& row,
               const std::function<void(const NpyView& from, NpyWriter& to)>& fill);

  /// Folder of the columns until publish(). Scratch files may be written there, but must be removed before
  /// publish().
  const std::filesystem::path& path() const { return folder_.path(); }
  FileSystem& files() const { return folder_.files(); }

  /// Adds `format_version` and the columns to `manifest`, writes it, and makes the data set appear. "columns"
  /// of `manifest` may already list files that the caller wrote in path(). Call it once. Errors: Failure
  /// (disk; the output exists and must not be replaced), InputError (a text that is not UTF-8).
  void publish(Json manifest, int format_version = 1);

 private:
  struct Column {
    std::string name;
    std::optional<NpyWriter> writer;  // Empty after finish().
    Json entry = {};                  // Its description in the manifest, set by finish().
  };

  NpyWriter& add(const std::string& name, const char* dtype, const std::vector<int64_t>& row);
  std::list<Column>::iterator find(const std::string& name);
  static void finish(Column& column);

  NewFolder folder_;
  std::list<Column> columns_;
};

/// A data set opened for reading: its manifest and its mapped columns. Columns and spans are valid as long as
/// it lives. Immutable, so any number of threads may read it.
class DataSetView {
 public:
  /// Opens the folder. An empty `kind` accepts any. The content of the columns is not read. Errors:
  /// InputError if it is not a data set, is of another kind or a newer format version, or if a column is
  /// missing or differs from its description in the manifest; Failure; BudgetExceeded (the manifest,
  /// Tag::columns).
  explicit DataSetView(std::filesystem::path folder, const std::string& kind = "");

  const std::filesystem::path& folder() const { return folder_; }
  const Json& manifest() const { return manifest_; }
  std::string kind() const { return manifest_.at("kind"); }
  const std::map<std::string, NpyView>& columns() const { return columns_; }
  bool has_column(const std::string& name) const { return columns_.contains(name); }
  /// Identity of the data set: kind, checksum of each column, and XXH3-64 of the table `recordings`.
  Json identity() const;

  /// Returns the elements of a column whose rows have the shape `row`. Errors: InputError (missing, other
  /// dtype or shape).
  template <typename T>
  std::span<const T> column(const std::string& name, const std::vector<int64_t>& row = {}) const {
    return require(name, row).template values<T>();
  }

 private:
  const NpyView& require(const std::string& name, const std::vector<int64_t>& row) const;

  std::filesystem::path folder_;
  Charge charge_{Tag::columns};  // Memory of the manifest.
  Json manifest_;
  std::map<std::string, NpyView> columns_;
};

/// Returns the parsed manifest of a folder. Its memory is added to `charge`; the overload without `charge`
/// keeps it in the ledger only during the call. Errors: InputError if the folder is not a data set or the
/// manifest is not valid, Failure, BudgetExceeded.
Json read_manifest(const std::filesystem::path& folder, Charge& charge);
Json read_manifest(const std::filesystem::path& folder);

/// Returns the kind of data set in a folder: "graph_set", "graph" and so on. Errors: those of
/// read_manifest().
std::string kind_of(const std::filesystem::path& folder);

}  // namespace plimsoll
