#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>

#include "base/error.h"
#include "device/device_ledger.h"

namespace plimsoll {

// A device with a memory and queues of its own, as CUDA has them, behind one interface. cuda_device.h makes
// the one of CUDA; host_device.h makes a stand-in for tests, which finds the faults that a GPU would compute
// with. Pointers to device memory are for work on streams alone; the host never reads or writes there.

/// A stretch of memory.
struct Stretch {
  std::byte* data = nullptr;
  int64_t bytes = 0;
};

/// What a piece of work reads or writes. The stand-in checks it; CUDA ignores it.
struct Access {
  const void* data = nullptr;
  int64_t bytes = 0;
  bool writes = false;
  bool pinned = false;  ///< of a PinnedBuffer, which a kernel reads by way of the bus
};
inline Access reads(const void* data, int64_t bytes) {
  return {data, bytes, false};
}
inline Access writes(const void* data, int64_t bytes) {
  return {data, bytes, true};
}
inline Access reads_pinned(const void* data, int64_t bytes) {
  return {data, bytes, false, true};
}

/// A point of a stream that others wait for. Ends after or before the stream, in any order. Not thread-safe.
class DeviceEvent {
 public:
  DeviceEvent() = default;
  virtual ~DeviceEvent() = default;
  DeviceEvent(const DeviceEvent&) = delete;
  DeviceEvent& operator=(const DeviceEvent&) = delete;

  /// Whether all work before the point has ended; true where none was recorded. The host has then seen what
  /// that work wrote. Errors: as DeviceStream::wait().
  virtual bool reached() = 0;
  /// Waits until it is. Errors: as DeviceStream::wait().
  virtual void wait() = 0;
};

/// Host memory that the device copies from and to without the host's help. It stands in the ledger of the
/// process under Tag::blocks. All copies, and kernels that read it, must have ended before it does. Not
/// thread-safe.
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  virtual ~PinnedBuffer() = default;
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;

  int64_t bytes() const { return stretch_.bytes; }
  /// Its place, as an operand of copies and kernels.
  std::byte* data() const { return stretch_.data; }
  /// The bytes for the host, once no copy or kernel uses them. Errors: on the stand-in DeviceFault where one
  /// may still.
  virtual std::span<const std::byte> read() = 0;
  virtual std::span<std::byte> write() = 0;

 protected:
  Stretch stretch_;
};

/// Work that is done in its order, beside the host and beside other streams. A stream ends when its work has.
/// Not thread-safe; several threads may each use one of their own.
class DeviceStream {
 public:
  DeviceStream() = default;
  virtual ~DeviceStream() = default;
  DeviceStream(const DeviceStream&) = delete;
  DeviceStream& operator=(const DeviceStream&) = delete;

  /// Copies between a region and a PinnedBuffer. The buffer must stay as it is until the copy has ended.
  virtual void copy_to_device(std::byte* to, const std::byte* from, int64_t bytes) = 0;
  virtual void copy_to_host(std::byte* to, const std::byte* from, int64_t bytes) = 0;
  virtual void fill(std::byte* to, uint8_t byte, int64_t bytes) = 0;
  /// `work(native)` puts kernels on the stream: native is a cudaStream_t, and work is called at once; on the
  /// stand-in it is null, and work is called later on the stream's thread. `name` must be a literal.
  virtual void run(const char* name, std::initializer_list<Access> accesses,
                   std::function<void(void* native)> work) = 0;

  virtual void record(DeviceEvent& event) = 0;
  /// Work that is added from now on starts after the point that was last recorded in `event`.
  virtual void wait_for(DeviceEvent& event) = 0;
  /// The host waits for all work. Errors: Failure where the device failed, or what a piece of work threw;
  /// what came after that piece was not done.
  virtual void wait() = 0;
  /// cudaStream_t, for others that put work on the stream; null where it is none of CUDA.
  virtual void* native() const { return nullptr; }

 private:
  friend class DeviceRange;
  // A piece of a range begins or ends in the order of the stream. Pieces end in destructors, so a fault that
  // is found there is thrown by a later call on the device.
  virtual void begin_piece(Stretch) {}
  virtual void end_piece(Stretch) noexcept {}
  // Its room is one piece again.
  virtual void end_range(Stretch) noexcept {}
};

/// One stretch of device memory that stands in the device's ledger as its region. Nothing else is taken from
/// the device after the start. Pieces live long, and are taken and given back by the host. Not thread-safe.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  virtual ~DeviceMemory() = default;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  Stretch stretch() const { return stretch_; }

 private:
  friend class DeviceRegion;
  virtual void begin_piece(Stretch) {}
  virtual void end_piece(Stretch) noexcept {}  // likewise

 protected:
  Stretch stretch_;
};

/// A device that is open: its context is there, and stands in the ledger. Thread-safe.
class Device {
 public:
  Device() = default;
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// "cuda:0, NVIDIA H100 80GB HBM3", for people.
  virtual std::string name() const = 0;
  /// Bytes that nobody holds now. Errors: Failure.
  virtual int64_t free_bytes() const = 0;
  DeviceLedger& ledger() { return ledger_; }

  /// Errors of all four: DeviceBudgetExceeded, or BudgetExceeded for pinned memory, with nothing taken;
  /// Failure where the device has no more. What they make must end before the device.
  virtual std::unique_ptr<DeviceMemory> take_memory(int64_t bytes) = 0;
  virtual std::unique_ptr<PinnedBuffer> pin(int64_t bytes) = 0;
  virtual std::unique_ptr<DeviceStream> make_stream() = 0;
  virtual std::unique_ptr<DeviceEvent> make_event() = 0;

 protected:
  DeviceLedger ledger_;
};

}  // namespace plimsoll
