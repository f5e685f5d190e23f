#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "io/file.h"
#include "io/npy.h"

namespace plimsoll {

/// Type and shape of the numbers in a file without a header, such as a NumPy memory map.
struct RawArray {
  /// bool, i8, u8, i16, u16, i32, u32, i64, u64, f16, f32 or f64, little-endian; empty: the file has a
  /// header.
  std::string dtype = {};
  std::vector<int64_t> shape = {};
};

/// Location of an array: a .npy file, or a member of a .npz file, written as FILE.npz:MEMBER or, if it is the
/// only one, as FILE.npz.
struct ArrayPlace {
  std::filesystem::path file;
  std::string member = {};
};
/// Returns whether a path names an array: it ends in .npy, .npz or .npz:MEMBER.
bool names_array(const std::filesystem::path& path);
/// Splits FILE.npz:MEMBER into its parts, unless a file has that whole name.
ArrayPlace array_place(const std::filesystem::path& path);

/// An array of numbers supplied by the user, of any little-endian bool, integer or real dtype of NumPy up to
/// 64 bits, in C or Fortran order. It is made for one or two axes; callers check shape(). Further axes count
/// as columns, in an order that is only right for C order. The file is mapped; numbers are converted when
/// they are read. Immutable, so any number of threads may read it. Errors: InputError that names the file and
/// the fault, UsageError (the dtype of `raw`), Failure.
class NumberArray {
 public:
  enum class Type : uint8_t { boolean, i8, u8, i16, u16, i32, u32, i64, u64, f16, f32, f64 };

  NumberArray() = default;
  explicit NumberArray(const std::filesystem::path& path, const RawArray& raw = {});

  const std::string& path() const { return path_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t rows() const { return shape_.empty() ? 1 : shape_[0]; }
  /// The number of columns; 1 for one axis.
  int64_t columns() const { return columns_; }
  Type type() const { return type_; }
  const std::string& dtype() const { return dtype_; }
  bool is_whole() const { return type_ < Type::f16; }

  /// Returns an element of an array whose type is_whole(); values from 2^63 on become the greatest int64.
  int64_t whole(int64_t row, int64_t column = 0) const;
  /// Returns an element of any array, rounded to double if it has more than 53 bits.
  double real(int64_t row, int64_t column = 0) const;
  /// Converts the first to.size() numbers of a row to f32; `to` has at most columns() entries. Values that
  /// are too large become infinite.
  void copy_row(int64_t row, std::span<float> to) const;

 private:
  const std::byte* at(int64_t row, int64_t column) const;
  void take(std::string dtype, std::vector<int64_t> shape, std::span<const std::byte> data);

  std::string path_;
  MappedFile file_;
  std::string dtype_;
  Type type_ = Type::f32;
  std::vector<int64_t> shape_ = {0};
  int64_t columns_ = 1;
  bool fortran_ = false;
  std::span<const std::byte> data_;
};

/// Adds a sentence to `notes` if the array has a type whose numbers are rounded when they are converted to
/// f32. The numbers are not read.
void note_rounding(const NumberArray& array, std::vector<std::string>& notes);

}  // namespace plimsoll
