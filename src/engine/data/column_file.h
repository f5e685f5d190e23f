#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "io/npy.h"

namespace plimsoll {

/// What a column of a run was computed from. Hashes, as hex text.
struct ColumnKey {
  std::string weights;   ///< of the model that computed it
  std::string data;      ///< the data set
  std::string settings;  ///< how graphs are made of it, and which of them

  bool operator==(const ColumnKey&) const = default;
};

/// A column of a run: NAME.npy, f32 [rows, width], and NAME.json, which says what it was computed from
/// (docs/formats/run.md). It is there whole or not at all. Not thread-safe.
class ColumnFile {
 public:
  ColumnFile(const std::filesystem::path& folder, const std::string& name);

  /// The column, mapped; none if it is not there. Errors: InputError that says what differs if it was
  /// computed from something else, or is damaged.
  std::optional<NpyView> open(const ColumnKey& key) const;

  /// Writes it again. Errors: Failure, and those of `fill`; what was there stays then.
  using Fill = std::function<void(NpyWriter&)>;
  void write(const ColumnKey& key, int64_t width, const Fill& fill) const;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path key_path() const;
  std::filesystem::path path_;
};

}  // namespace plimsoll
