#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>

#include "device/device.h"
#include "memory/charge.h"

namespace plimsoll {

/// A device whose memory is the host's and whose streams do their work at once: for tests of what torch does
/// on a device. Faults of order and place are found by device/host_device.h.
class PlainDevice final : public Device {
 public:
  explicit PlainDevice(int64_t bytes) : bytes_(bytes) {}

  std::string name() const override { return "plain"; }
  int64_t total_bytes() const override { return bytes_; }
  int64_t free_bytes() const override { return bytes_ - ledger_.held(); }
  std::unique_ptr<DeviceMemory> take_memory(int64_t bytes) override {
    return std::make_unique<Memory>(ledger_, bytes);
  }
  std::unique_ptr<PinnedBuffer> pin(int64_t bytes) override { return std::make_unique<Pinned>(bytes); }
  std::unique_ptr<DeviceStream> make_stream() override { return std::make_unique<Stream>(); }
  std::unique_ptr<DeviceEvent> make_event() override { return std::make_unique<Event>(); }

 private:
  struct Memory final : DeviceMemory {
    Memory(DeviceLedger& of, int64_t bytes) : ledger(of) {
      ledger.take(DeviceAccount::region, bytes);
      stretch_ = {
          static_cast<std::byte*>(std::aligned_alloc(256, static_cast<size_t>((bytes + 255) / 256 * 256))),
          bytes};
      std::memset(stretch_.data, 0xFF, static_cast<size_t>(bytes));  // what is not written is no number
    }
    ~Memory() override {
      std::free(stretch_.data);
      ledger.give(DeviceAccount::region, stretch_.bytes);
    }
    DeviceLedger& ledger;
  };
  struct Pinned final : PinnedBuffer {
    explicit Pinned(int64_t bytes)
        : charge(Tag::blocks, bytes), memory(new std::byte[static_cast<size_t>(bytes)]) {
      stretch_ = {memory.get(), bytes};
    }
    std::span<const std::byte> read() override { return write(); }
    std::span<std::byte> write() override { return {stretch_.data, static_cast<size_t>(stretch_.bytes)}; }
    Charge charge;
    std::unique_ptr<std::byte[]> memory;
  };
  struct Event final : DeviceEvent {
    bool reached() override { return true; }
    void wait() override {}
  };
  struct Stream final : DeviceStream {
    void copy_to_device(std::byte* to, const std::byte* from, int64_t bytes) override {
      copy_to_host(to, from, bytes);
    }
    void copy_to_host(std::byte* to, const std::byte* from, int64_t bytes) override {
      std::memcpy(to, from, static_cast<size_t>(bytes));
    }
    void fill(std::byte* to, uint8_t byte, int64_t bytes) override {
      std::memset(to, byte, static_cast<size_t>(bytes));
    }
    void run(const char*, std::initializer_list<Access>, std::function<void(void*)> work) override {
      work(nullptr);
    }
    void record(DeviceEvent&) override {}
    void wait_for(DeviceEvent&) override {}
    void wait() override {}
  };

  const int64_t bytes_;
};

}  // namespace plimsoll
