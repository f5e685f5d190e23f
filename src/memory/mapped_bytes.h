#pragma once

#include <cstddef>
#include <cstdint>

#include "memory/ledger.h"

namespace plimsoll {

/// Bytes that are mapped from the system and entered in the ledger. Used for long-lived buffers as large as
/// the budget allows: on the heap they would need a hole of that size, or addresses beyond the limit in
/// force. The bytes are initially zero. Pages are allocated when they are touched.
class MappedBytes {
 public:
  MappedBytes() = default;
  /// Maps nothing if `bytes` is 0. Errors: BudgetExceeded, also if the system refuses the mapping.
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
