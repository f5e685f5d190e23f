#include "memory/mapped_bytes.h"

#include <sys/mman.h>

#include <utility>

namespace plimsoll {
namespace {

constexpr int64_t kHugePage = int64_t{2} << 20;

}  // namespace

MappedBytes::MappedBytes(Tag tag, int64_t bytes) : tag_(tag) {
  if (bytes == 0) return;
  Ledger& ledger = Ledger::process();
  ledger.take(tag, bytes);
  void* const data = ::mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) {
    ledger.give(tag, bytes);
    throw BudgetExceeded(tag, bytes, 0, ledger.cap());
  }
  // Rows are read at random, where a TLB miss costs as much as the row, so huge pages are requested. They
  // stay within the mapping, so the process holds no more than was entered. If the system has no huge pages,
  // nothing changes.
  if (bytes >= kHugePage) ::madvise(data, static_cast<size_t>(bytes), MADV_HUGEPAGE);
  data_ = static_cast<std::byte*>(data);
  bytes_ = bytes;
}

MappedBytes& MappedBytes::operator=(MappedBytes&& other) noexcept {
  if (this == &other) return *this;
  reset();
  data_ = std::exchange(other.data_, nullptr);
  bytes_ = std::exchange(other.bytes_, 0);
  tag_ = other.tag_;
  return *this;
}

void MappedBytes::reset() noexcept {
  if (data_ == nullptr) return;
  ::munmap(std::exchange(data_, nullptr), static_cast<size_t>(bytes_));
  Ledger::process().give(tag_, std::exchange(bytes_, 0));
}

}  // namespace plimsoll
