#pragma once

#include <cstddef>
#include <cstdint>

#include "memory/ledger.h"

namespace plimsoll {

/// Bytes of the system's own pages, in the ledger: for what is as large as the budget allows and lives long.
/// On the heap it would need a hole of its length, or addresses beyond the limit in force. Zeros at first;
/// pages come as they are touched.
class MappedBytes {
 public:
  MappedBytes() = default;
  /// Errors: BudgetExceeded.
  MappedBytes(Tag tag, int64_t bytes);
  ~MappedBytes() { reset(); }
  MappedBytes(MappedBytes&& other) noexcept { *this = static_cast<MappedBytes&&>(other); }
  MappedBytes& operator=(MappedBytes&& other) noexcept;
  MappedBytes(const MappedBytes&) = delete;
  MappedBytes& operator=(const MappedBytes&) = delete;

  void reset() noexcept;
  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  int64_t size() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
  Tag tag_ = Tag::other;
};

}  // namespace plimsoll
