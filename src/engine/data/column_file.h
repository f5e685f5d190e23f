#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "io/npy.h"

namespace plimsoll {

/// Identifies the inputs from which a column of a run was computed. All members are hashes, as hex text.
struct ColumnKey {
  std::string weights;   ///< Weights of the model that computed it.
  std::string data;      ///< The data set.
  std::string settings;  ///< How graphs are made from the data, and which graphs are in the column.

  bool operator==(const ColumnKey&) const = default;
};

/// A column of a run: NAME.npy, f32 [rows, width], and NAME.json, which identifies the inputs it was computed
/// from (docs/formats/run.md). The column exists either completely or not at all. Not thread-safe.
class ColumnFile {
 public:
  ColumnFile(const std::filesystem::path& folder, const std::string& name);

  /// Opens the column as a mapped file; nullopt if it does not exist. Reads it once to verify its checksum.
  /// Errors: InputError that names the difference if the column was computed from other inputs or is damaged;
  /// Failure if it cannot be read.
  std::optional<NpyView> open(const ColumnKey& key) const;

  /// Writes a new column in place of an earlier one. `fill` appends its rows. Errors: Failure, and those of
  /// `fill`. The earlier column is lost even then: open() returns nullopt.
  using Fill = std::function<void(NpyWriter&)>;
  void write(const ColumnKey& key, int64_t width, const Fill& fill) const;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path key_path() const;
  std::filesystem::path path_;
};

}  // namespace plimsoll
