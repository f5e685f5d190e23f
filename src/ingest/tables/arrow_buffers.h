#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/error.h"
#include "io/arrow_stream.h"
#include "memory/vector.h"

namespace plimsoll {

/// Returns the value at an address of any alignment.
template <typename T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// Returns bit `at` of a bitmap, in which the lowest bit of a byte is the first.
inline bool bit_at(const std::byte* bits, int64_t at) {
  return (static_cast<unsigned>(bits[at / 8]) >> (at % 8) & 1U) != 0;
}

/// The buffers and children of an Arrow array, which must outlive this object. They are checked before use,
/// but the interface does not contain the sizes of buffers, so a length beyond a buffer cannot be detected.
class ArrowBuffers {
 public:
  /// Checks the array. `where` names the column in messages. Errors: InputError (negative or excessive
  /// lengths).
  ArrowBuffers(const ArrowArray& array, std::string where);

  const std::string& where() const { return where_; }
  /// Returns the error "WHERE: its Arrow array has WHAT; ...".
  InputError broken(const std::string& what) const;
  /// Throws InputError unless the array has the rows first .. first + rows - 1.
  void require_rows(int64_t first, int64_t rows) const;
  /// Returns a buffer. Errors: InputError if it does not exist, unless the array is empty.
  const std::byte* data(int64_t buffer, const char* what) const;
  /// Returns a child. Errors: InputError if it does not exist.
  const ArrowArray& child(int64_t index) const;
  /// Sets valid[i] to 1 or 0 for the `rows` values from element `begin` of the buffers on; `begin` includes
  /// the array's offset.
  void copy_validity(bool all_missing, int64_t begin, int64_t rows,
                     Vector<uint8_t, Tag::ingest>& valid) const;

 private:
  const ArrowArray& array_;
  std::string where_;
};

}  // namespace plimsoll
