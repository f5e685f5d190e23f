#include "ops/allocator.h"

#include <c10/core/CPUAllocator.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include "memory/slab.h"

namespace plimsoll {
namespace {

thread_local Tag current_tag = Tag::other;

constexpr size_t kAlignment = 64;

// What stands before each tensor's data. A tensor is a piece of a slab's range, or of the heap.
struct alignas(kAlignment) Header {
  SlabPiece in_slab;  // without data: it is of the heap
  void* in_heap;      // as malloc gave it
  int64_t bytes;      // of the heap, as entered in the ledger
  Tag tag;
};
static_assert(sizeof(Header) == kAlignment && sizeof(Header) == kTensorHeader);

Header* take_from_heap(size_t bytes) {
  // Aligned by hand: glibc's aligned_alloc does not find its own freed pieces again, so the heap grows.
  const size_t whole = bytes + sizeof(Header) + kAlignment;
  const auto entered = static_cast<int64_t>(whole);
  Ledger& ledger = Ledger::process();
  ledger.take(current_tag, entered);
  void* const piece = std::malloc(whole);
  if (piece == nullptr) {
    ledger.give(current_tag, entered);
    throw BudgetExceeded(current_tag, entered, 0, ledger.cap());
  }
  const uintptr_t aligned = (reinterpret_cast<uintptr_t>(piece) + kAlignment - 1) / kAlignment * kAlignment;
  return new (reinterpret_cast<void*>(aligned)) Header{{}, piece, entered, current_tag};
}

class LedgerCpuAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    const c10::Device cpu(c10::DeviceType::CPU);
    const SlabPiece piece = Slab::take_piece(static_cast<int64_t>(bytes));
    if (bytes == 0) return {nullptr, nullptr, &release, cpu};
    Header* const header = piece.data != nullptr ? new (piece.data) Header{piece, nullptr, 0, current_tag}
                                                 : take_from_heap(bytes);
    void* const data = header + 1;
    return {data, data, &release, cpu};
  }

  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, size_t bytes) const override { std::memcpy(to, from, bytes); }

 private:
  static void release(void* data) {
    if (data == nullptr) return;
    // A copy: the header is part of the piece.
    const Header header = *(static_cast<Header*>(data) - 1);
    if (header.in_slab.data != nullptr) {
      Slab::give_piece(header.in_slab);
      return;
    }
    Ledger::process().give(header.tag, header.bytes);
    std::free(header.in_heap);
  }
};

}  // namespace

void install_ledger_allocator() {
  // Never destroyed: tensors may outlive every static object.
  static auto* const allocator = new LedgerCpuAllocator;
  c10::SetCPUAllocator(allocator, /*priority=*/1);
}

TagScope::TagScope(Tag tag) : before_(current_tag) {
  current_tag = tag;
}
TagScope::~TagScope() {
  current_tag = before_;
}

}  // namespace plimsoll
