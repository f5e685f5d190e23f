#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/hash.h"
#include "base/number_type.h"
#include "io/file.h"
#include "memory/vector.h"

namespace plimsoll {

/// The element type and shape of a .npy file, in NumPy's notation.
struct NpyShape {
  std::string dtype;           ///< "<i8", "<f4", "|u1", ...
  std::vector<int64_t> shape;  ///< C order; shape[0] is the number of rows.

  int64_t rows() const { return shape.empty() ? 1 : shape[0]; }
  /// Returns the number of elements, or -1 if it does not fit into 64 bits.
  int64_t elements() const;
  bool operator==(const NpyShape&) const = default;
};

/// Returns NumPy's name of a C++ type on a little-endian machine.
template <typename T>
const char* npy_dtype() {
  if constexpr (std::is_same_v<T, int64_t>) return "<i8";
  if constexpr (std::is_same_v<T, int32_t>) return "<i4";
  if constexpr (std::is_same_v<T, uint32_t>) return "<u4";
  if constexpr (std::is_same_v<T, uint8_t>) return "|u1";
  if constexpr (std::is_same_v<T, int16_t>) return "<i2";
  if constexpr (std::is_same_v<T, int8_t>) return "|i1";
  if constexpr (std::is_same_v<T, float>) return "<f4";
  if constexpr (std::is_same_v<T, double>) return "<f8";
}

/// Returns NumPy's name of a number type. bf16, which NumPy does not have, is stored as bits, "<u2".
const char* npy_dtype(NumberType type);
/// Returns the number type of a column of this dtype, or nullopt if there is none. "<u2" stands for bf16.
std::optional<NumberType> npy_number_type(const std::string& dtype);

/// Returns the bytes of one element, or 0 if the dtype is not one of those above.
int64_t npy_item_bytes(const std::string& dtype);

/// Offset of the data in a file, after a padded header. It is aligned for every type, and whole pages can be
/// mapped.
inline constexpr int64_t kNpyDataOffset = 4096;

/// Writes one .npy file (version 1.0, C order, little-endian) row by row. The number of rows need not be
/// known in advance. Not thread-safe. Errors: Failure (disk), BudgetExceeded (its buffer of 256 KiB,
/// Tag::output).
class NpyWriter {
 public:
  /// `dtype` is one of those above. `row` is the shape of one row: {} for a vector, {8} for a matrix with 8
  /// columns. An existing file is overwritten.
  NpyWriter(const std::filesystem::path& path, std::string dtype, std::vector<int64_t> row,
            FileSystem& files = FileSystem::disk());

  /// Appends elements, which need not be whole rows. The dtype of T is not checked.
  template <typename T>
  void append(std::span<const T> values) {
    append_bytes(values.data(), values.size_bytes());
  }
  /// Writes the header and the rest of the data and returns the shape; if a row has no elements, there are 0
  /// rows. Nothing may be appended afterwards. Syncs the file unless `sync` is false, for a caller that is
  /// about to replace it. Errors: also Failure if the last row is incomplete.
  NpyShape finish(bool sync = true);
  /// XXH3-64 of the data bytes appended so far.
  std::string checksum() const { return hasher_.hex64(); }

 private:
  void append_bytes(const void* data, size_t bytes);
  void flush();

  File file_;
  NpyShape shape_;
  Vector<char, Tag::output> buffer_;
  size_t filled_ = 0;
  int64_t data_bytes_ = 0;
  Hasher hasher_;
};

/// A column of a data set, a .npy file, mapped for reading. Its bytes are valid as long as those of
/// MappedFile. Immutable, so any number of threads may read it. Errors: InputError that names the file and
/// the fault, Failure.
class NpyView {
 public:
  NpyView() = default;
  explicit NpyView(const std::filesystem::path& path);

  const NpyShape& shape() const { return shape_; }
  const MappedFile& file() const { return file_; }
  std::span<const std::byte> data() const { return data_; }
  /// Offset of the data in the file, in bytes.
  int64_t offset() const { return data_.data() - file_.bytes().data(); }

  /// Returns all elements in C order. Errors: InputError if the dtype is not that of T.
  template <typename T>
  std::span<const T> values() const {
    require_dtype(npy_dtype<T>());
    return {reinterpret_cast<const T*>(data_.data()), data_.size() / sizeof(T)};
  }

 private:
  void require_dtype(const char* dtype) const;

  MappedFile file_;
  NpyShape shape_;
  std::span<const std::byte> data_;
};

/// Returns a header of kNpyDataOffset bytes as it is stored in the file.
std::string npy_header(const NpyShape& shape);
/// Content of the header of any .npy file.
struct NpyLayout {
  NpyShape shape;  ///< The dtype may be any plain name.
  bool fortran = false;
  int64_t offset = 0;  ///< Where the data starts.
};
/// Parses a header of version 1 to 3 at the beginning of `bytes`. `path` is for the error texts. Errors:
/// InputError.
NpyLayout parse_npy_layout(std::span<const std::byte> bytes, const std::string& path);
/// Parses the header of a column of a data set, whose dtype must be one of those above, in C order. Sets
/// `shape` and returns the offset of the data. Errors: InputError.
int64_t parse_npy_header(std::span<const std::byte> bytes, const std::string& path, NpyShape& shape);

}  // namespace plimsoll
