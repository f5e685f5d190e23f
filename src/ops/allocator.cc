#include "ops/allocator.h"

#include <c10/core/CPUAllocator.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <new>

#include "base/mutex.h"
#include "memory/caching_allocator.h"
#include "memory/shrinker.h"
#include "memory/slab.h"
#include "memory/tape.h"
#include "ops/device_tensors.h"

namespace plimsoll {
namespace {

thread_local Tag current_tag = Tag::other;

void (*refuse)(const BudgetExceeded&) = nullptr;

constexpr size_t kAlignment = 64;

// The header before each tensor's data. A tensor's memory is in a slab's range or on the heap.
struct alignas(kAlignment) Header {
  SlabAllocation in_slab;  // The data pointer is null if the tensor is on the heap.
  void* in_heap;           // The pointer that malloc returned.
  int64_t bytes;           // Heap bytes that are entered in the ledger.
  Tag tag;
  bool mapped = false;  // Whether in_heap comes from CachingAllocator.
};
static_assert(sizeof(Header) == kAlignment && sizeof(Header) == kTensorHeader);

Header* take_from_heap(size_t bytes) {
  // The piece is aligned by hand, because glibc's aligned_alloc does not reuse the memory that it freed, so
  // the heap would grow.
  const int64_t entered = tensor_heap_bytes(static_cast<int64_t>(bytes));
  Ledger& ledger = Ledger::process();
  ledger.take(current_tag, entered);
  const bool mapped = entered >= CachingAllocator::kMin && CachingAllocator::keeping();
  void* const piece = mapped ? CachingAllocator::take(entered) : std::malloc(static_cast<size_t>(entered));
  if (piece == nullptr) {
    ledger.give(current_tag, entered);
    throw BudgetExceeded(current_tag, entered, 0, ledger.cap());
  }
  const uintptr_t aligned = (reinterpret_cast<uintptr_t>(piece) + kAlignment - 1) / kAlignment * kAlignment;
  return new (reinterpret_cast<void*>(aligned)) Header{{}, piece, entered, current_tag, mapped};
}

void write_down(int64_t place, size_t bytes) {
  TapeRecorder* const recorder = TapeScope::current();
  const auto asked = static_cast<int64_t>(bytes);
  if (recorder != nullptr) recorder->take(place, asked, asked == 0 ? 0 : asked + kTensorHeader);
}

void strike_out(int64_t place) {
  if (TapeRecorder* const recorder = TapeScope::current()) recorder->give(place);
}

int64_t place_of(const void* data) {
  return static_cast<int64_t>(reinterpret_cast<uintptr_t>(data));
}

// Allocates tensors without data. The context in the DataPtr is a number unique to the tensor.
class MetaAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    static std::atomic<uintptr_t> last = 0;
    auto* const number = reinterpret_cast<void*>(++last);
    write_down(place_of(number), bytes);
    return {nullptr, number, &release, c10::Device(c10::DeviceType::Meta)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
  void copy_data(void*, const void*, size_t) const override {}

 private:
  static void release(void* number) { strike_out(place_of(number)); }
};

// CPU memory that tests use as the memory of a device. Pieces are found by their data, because torch's
// products in bfloat16 need DataPtr to keep the data's address.
class CpuTensorsOnDevice {
 public:
  c10::DataPtr take(DeviceTensors& tensors, size_t bytes) {
    const auto size = static_cast<int64_t>(bytes);
    void* const data = tensors.take(size);
    if (data == nullptr) return {nullptr, nullptr, &release, c10::Device(c10::DeviceType::CPU)};
    const MutexLock lock(mutex_);
    pieces_[data] = {&tensors, size};
    count_ = std::ssize(pieces_);
    return {data, data, &release, c10::Device(c10::DeviceType::CPU)};
  }
  // Returns false if `data` was not allocated here.
  bool give(void* data) {
    if (count_ == 0) return false;
    MutexLock lock(mutex_);
    const auto found = pieces_.find(data);
    if (found == pieces_.end()) return false;
    const Piece piece = found->second;
    pieces_.erase(found);
    count_ = std::ssize(pieces_);
    lock.unlock();
    piece.tensors->give(data, piece.bytes);
    return true;
  }

 private:
  static void release(void* data);
  struct Piece {
    DeviceTensors* tensors = nullptr;
    int64_t bytes = 0;
  };
  Mutex mutex_;
  std::map<void*, Piece> pieces_ PLIMSOLL_GUARDED_BY(mutex_);
  std::atomic<int64_t> count_ = 0;
};
CpuTensorsOnDevice& cpu_tensors_on_device() {
  // Never destroyed: tensors may outlive main().
  static CpuTensorsOnDevice* const taken = new CpuTensorsOnDevice;
  return *taken;
}
void CpuTensorsOnDevice::release(void* data) {
  if (data != nullptr) cpu_tensors_on_device().give(data);
}

class LedgerCpuAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    if (DeviceTensors* const device = DeviceRangeScope::cpu_tensors())
      return cpu_tensors_on_device().take(*device, bytes);
    try {
      try {
        return take(bytes);
      } catch (const BudgetExceeded&) {
        if (!Shrinker::ask()) throw;
      }
      return take(bytes);
    } catch (const BudgetExceeded& refusal) {
      if (refuse != nullptr) refuse(refusal);
      throw;
    }
  }

  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, size_t bytes) const override { std::memcpy(to, from, bytes); }

  static void release(void* data) {
    if (data == nullptr || cpu_tensors_on_device().give(data)) return;
    strike_out(place_of(data));
    c10::profiledCPUMemoryReporter().Delete(data);
    // The header is copied, because it is part of the piece.
    const Header header = *(static_cast<Header*>(data) - 1);
    if (header.in_slab.data != nullptr) {
      Slab::give_piece(header.in_slab);
      return;
    }
    if (header.mapped) return CachingAllocator::give(header.in_heap, header.bytes, header.tag);
    std::free(header.in_heap);  // Freed before it is removed from the ledger: memory without an entry would
                                // be counted as memory of other code.
    Ledger::process().give(header.tag, header.bytes);
  }

 private:
  static c10::DataPtr take(size_t bytes) {
    const c10::Device cpu(c10::DeviceType::CPU);
    const SlabAllocation piece = Slab::take_piece(static_cast<int64_t>(bytes));
    if (bytes == 0) {
      write_down(0, 0);
      return {nullptr, nullptr, &release, cpu};
    }
    Header* const header = piece.data != nullptr ? new (piece.data) Header{piece, nullptr, 0, current_tag}
                                                 : take_from_heap(bytes);
    void* const data = header + 1;
    write_down(place_of(data), bytes);
    c10::profiledCPUMemoryReporter().New(data, bytes);
    return {data, data, &release, cpu};
  }
};

}  // namespace

void set_refusal(void (*thrower)(const BudgetExceeded& refusal)) {
  refuse = thrower;
}

int64_t tensor_heap_bytes(int64_t bytes) {
  return bytes == 0 ? 0 : bytes + static_cast<int64_t>(sizeof(Header) + kAlignment);
}

void install_ledger_allocator() {
  // Never destroyed: tensors may outlive every static object.
  static auto* const allocator = new LedgerCpuAllocator;
  c10::SetCPUAllocator(allocator, /*priority=*/1);
  static auto* const without_data = new MetaAllocator;
  c10::SetAllocator(c10::DeviceType::Meta, without_data, /*priority=*/1);
}

TagScope::TagScope(Tag tag) : before_(current_tag) {
  current_tag = tag;
}
TagScope::~TagScope() {
  current_tag = before_;
}

}  // namespace plimsoll
