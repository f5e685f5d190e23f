#include "ops/allocator.h"

#include <c10/core/CPUAllocator.h>

#include <cstdlib>
#include <cstring>

namespace plimsoll {
namespace {

thread_local Tag current_tag = Tag::other;

// What stands before each tensor's data; as large as the alignment, which the data keeps.
struct alignas(64) Header {
  int64_t bytes;
  Tag tag;
};

class LedgerCpuAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    const c10::Device cpu(c10::DeviceType::CPU);
    if (bytes == 0) return {nullptr, nullptr, &release, cpu};
    // Whole cache lines, as aligned_alloc wants it.
    const size_t whole = sizeof(Header) + (bytes + alignof(Header) - 1) / alignof(Header) * alignof(Header);
    const auto entered = static_cast<int64_t>(whole);
    Ledger& ledger = Ledger::process();
    ledger.take(current_tag, entered);
    auto* const header = static_cast<Header*>(std::aligned_alloc(alignof(Header), whole));
    if (header == nullptr) {
      ledger.give(current_tag, entered);
      throw BudgetExceeded(current_tag, entered, 0, ledger.cap());
    }
    *header = {entered, current_tag};
    void* const data = header + 1;
    return {data, data, &release, cpu};
  }

  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, size_t bytes) const override { std::memcpy(to, from, bytes); }

 private:
  static void release(void* data) {
    if (data == nullptr) return;
    auto* const header = static_cast<Header*>(data) - 1;
    Ledger::process().give(header->tag, header->bytes);
    std::free(header);
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
