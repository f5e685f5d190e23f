#pragma once

#include <cstdint>
#include <utility>

#include "memory/ledger.h"

namespace plimsoll {

/// An entry in the ledger for memory that is not allocated by an allocator of Plimsoll, such as the memory of
/// a library, of strings or of JSON trees. The bytes stay entered as long as the object lives. Not
/// thread-safe.
class Charge {
 public:
  /// Errors: BudgetExceeded.
  explicit Charge(Tag tag, int64_t bytes = 0) : tag_(tag) { add(bytes); }
  ~Charge() { Ledger::process().give(tag_, bytes_); }
  Charge(Charge&& other) noexcept : tag_(other.tag_), bytes_(std::exchange(other.bytes_, 0)) {}
  Charge& operator=(Charge&& other) noexcept {
    std::swap(tag_, other.tag_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  /// Errors: BudgetExceeded, with nothing entered.
  void add(int64_t bytes) {
    Ledger::process().take(tag_, bytes);
    bytes_ += bytes;
  }
  /// Removes the bytes above `bytes` from the ledger.
  void shrink(int64_t bytes) noexcept {
    if (bytes < bytes_) Ledger::process().give(tag_, std::exchange(bytes_, bytes) - bytes);
  }
  int64_t bytes() const { return bytes_; }

 private:
  Tag tag_;
  int64_t bytes_ = 0;
};

}  // namespace plimsoll
