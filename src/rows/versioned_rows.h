#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>

#include "io/file.h"
#include "memory/vector.h"

namespace plimsoll {

/// The sizes of a table whose rows have weights and moments of an optimizer.
struct VersionedSizes {
  int64_t rows = 0;
  int64_t width = 0;    ///< Numbers of a row.
  int64_t moments = 0;  ///< Number of moments, each of `width` numbers.
};

/// A file of rows, f32, that change between commits. What the last commit had is never overwritten, so a
/// process that is killed at any moment leaves it whole: a row has several places in the file, and a byte of
/// memory says which places are current, which are those of the last commit, and which one is the best. A
/// checkpoint stores these bytes. No row is written before it changes: until then its weights come from
/// `initial`, and its moments are 0. docs/internals/node-state.md describes the file. Not thread-safe.
class VersionedRows {
 public:
  /// Sets `weights` to the initial numbers of a row.
  using Initial = std::function<void(int64_t row, std::span<float> weights)>;

  /// Bytes of the file. The object holds a byte for each row, and buffers (Tag::parameters).
  static int64_t file_bytes(const VersionedSizes& sizes);

  /// Errors: BudgetExceeded.
  VersionedRows(const VersionedSizes& sizes, Initial initial);

  /// Creates the file in place of any other, with all its bytes allocated. Errors: Failure if the disk cannot
  /// hold it; no file is left then.
  void create(const std::filesystem::path& path);
  /// Opens the file of an earlier process, whose last commit had `places`. Errors: Failure if the file does
  /// not exist or its size or `places` are not those of the table.
  void open(const std::filesystem::path& path, std::span<const std::byte> places);
  bool is_open() const { return file_.has_value(); }

  /// `weights` has the numbers of a row, `moments` those of its moments, one after the other. Errors:
  /// Failure.
  void read(int64_t row, std::span<float> weights, std::span<float> moments) const;
  /// Asks the system to read a row soon.
  void expect(int64_t row) const;
  /// Errors: Failure; the row is then as it was.
  void write(int64_t row, std::span<const float> weights, std::span<const float> moments);

  /// Makes the current weights of all rows the best, or the best the current. Commit before the next write().
  void keep_best();
  void restore_best();
  /// The bytes that a checkpoint must hold, one for each row. Write them once sync() has returned.
  std::span<const std::byte> places() const { return std::as_bytes(std::span(places_)); }
  /// Returns once all written rows are on the disk. Errors: Failure.
  void sync() const { file_->sync(); }
  /// Call it when the checkpoint is written.
  void commit();

  /// Passes the current weights of all rows to `take`, a few consecutive rows at a time. Errors: Failure.
  void read_all(const std::function<void(std::span<const float> weights)>& take);
  const VersionedSizes& sizes() const { return sizes_; }

 private:
  int64_t record_floats() const { return kWeightPlaces * sizes_.width + 2 * sizes_.moments * sizes_.width; }
  void read_at_random() const;
  int64_t offset_of(int64_t row, int64_t number) const;
  void read_at(int64_t offset, std::span<float> numbers) const;
  void write_at(int64_t offset, std::span<const float> numbers);

  // One weight place is current, one is that of the last commit, and one is the best.
  static constexpr int64_t kWeightPlaces = 3;

  VersionedSizes sizes_;
  Initial initial_;
  Vector<uint8_t, Tag::parameters> places_;
  // Memory for read_all(), so that it cannot lack any: records of a few rows, and their weights.
  int64_t rows_at_once_;
  Vector<float, Tag::parameters> records_;
  Vector<float, Tag::parameters> weights_;
  mutable std::optional<File> file_;
};

}  // namespace plimsoll
