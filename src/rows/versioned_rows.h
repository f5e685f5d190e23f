#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "io/file.h"
#include "memory/vector.h"

namespace plimsoll {

class Ring;

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
/// `initial`, and its moments are 0. Each place has a checksum, which is verified whenever the place is read.
/// docs/internals/node-state.md describes the file. Not thread-safe.
class VersionedRows {
 public:
  /// Sets `weights` to the initial numbers of a row.
  using Initial = std::function<void(int64_t row, std::span<float> weights)>;

  /// Bytes of the file, of which the last export_bytes() are a reserve. The object holds a byte for each row,
  /// and buffers (Tag::parameters).
  static int64_t file_bytes(const VersionedSizes& sizes);
  /// Bytes of the weights of all rows, outside the file.
  static int64_t export_bytes(const VersionedSizes& sizes);

  /// Errors: BudgetExceeded.
  VersionedRows(const VersionedSizes& sizes, Initial initial);
  ~VersionedRows();
  VersionedRows(const VersionedRows&) = delete;
  VersionedRows& operator=(const VersionedRows&) = delete;

  /// Creates the file in place of any other, with all its bytes allocated. Errors: Failure if the disk cannot
  /// hold it; no file is left then.
  void create(const std::filesystem::path& path);
  /// Opens the file of an earlier process, whose last commit had `places`, and allocates its reserve again if
  /// that was freed. Errors: Failure if the file does not exist, is of another version or of another table,
  /// or if the disk cannot hold it.
  void open(const std::filesystem::path& path, std::span<const std::byte> places);
  bool is_open() const { return file_.has_value(); }

  /// Frees the reserve: export_bytes() of disk space for a file with the weights of all rows. Errors:
  /// Failure.
  void free_reserve();

  /// `weights` has the numbers of a row, `moments` those of its moments, one after the other. Errors:
  /// Failure; InputError, which names the row, if its checksum is not that of its numbers.
  void read(int64_t row, std::span<float> weights, std::span<float> moments) const;
  /// Receives the numbers of rows[i], which are valid only during the call. It must not throw.
  using Use = std::function<void(size_t i, std::span<const float> weights, std::span<const float> moments)>;
  /// Reads many rows in the order of the file, several at a time. `rows` are ascending. Errors: those of
  /// read().
  void read(std::span<const uint32_t> rows, const Use& use) const;
  /// Asks the system to read a row soon.
  void expect(int64_t row) const;
  /// Errors: Failure; the current numbers of the row are then undefined, those of the last commit and the
  /// best are as they were.
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

  /// Passes the current weights of all rows to `take`, a few consecutive rows at a time. Errors: those of
  /// read().
  void read_all(const std::function<void(std::span<const float> weights)>& take);
  const VersionedSizes& sizes() const { return sizes_; }

 private:
  void allocate(const std::string& path, int64_t bytes) const;
  void read_at_random() const;
  void read_at(int64_t offset, std::span<float> numbers) const;
  template <typename Visit>
  void each_place(std::span<const uint32_t> rows, const Visit& visit) const;
  bool read_by_ring(std::span<const uint32_t> rows) const;
  void read_some(std::span<const uint32_t> rows, size_t first, const Use& use) const;
  void read_place(int64_t row, int64_t number, std::span<float> numbers) const;
  void write_place(int64_t row, int64_t number, std::span<const float> numbers);
  void verify(int64_t row, int64_t number, std::span<const float> numbers, float checksum) const;
  int64_t offset_of(int64_t row, int64_t number) const;

  VersionedSizes sizes_;
  Initial initial_;
  Vector<uint8_t, Tag::parameters> places_;
  // Memory for read_all(), so that it cannot lack any: records of a few rows, and their weights. Other reads
  // and writes use the memory of the records.
  int64_t rows_at_once_;
  mutable Vector<float, Tag::parameters> records_;
  Vector<float, Tag::parameters> weights_;
  mutable std::optional<File> file_;
  mutable std::unique_ptr<Ring>
      ring_;  // Null if the system refuses one: rows are then read one after the other.
};

}  // namespace plimsoll
