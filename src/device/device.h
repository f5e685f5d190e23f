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

// An interface to a device with its own memory and queues, like those of CUDA. cuda_device.h opens a CUDA
// device. host_device.h makes a stand-in for tests, which finds errors that would give wrong results on a
// GPU. Pointers to device memory are for work on streams only; the host never reads or writes through them.

/// A stretch of memory.
struct Stretch {
  std::byte* data = nullptr;
  int64_t bytes = 0;
};

/// Memory that some work reads or writes. The stand-in checks it; CUDA ignores it.
struct Access {
  const void* data = nullptr;
  int64_t bytes = 0;
  bool writes = false;
  bool pinned = false;  ///< Memory of a PinnedBuffer, which a kernel reads over the bus.
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

/// A point in a stream for which other streams or the host can wait. It may be destroyed before or after the
/// stream. Not thread-safe.
class DeviceEvent {
 public:
  DeviceEvent() = default;
  virtual ~DeviceEvent() = default;
  DeviceEvent(const DeviceEvent&) = delete;
  DeviceEvent& operator=(const DeviceEvent&) = delete;

  /// Returns whether all work before the point is done; true if no point was recorded. If true, the results
  /// of that work are visible to the host. Errors: those of DeviceStream::wait().
  virtual bool reached() = 0;
  /// Waits until reached() is true. Errors: those of DeviceStream::wait().
  virtual void wait() = 0;
};

/// Host memory that the device copies from and to without the host's help. It is entered in the process's
/// ledger under Tag::blocks. All copies, and all kernels that read it, must be done before it is destroyed.
/// Not thread-safe.
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  virtual ~PinnedBuffer() = default;
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;

  int64_t bytes() const { return stretch_.bytes; }
  /// The buffer's address, as an operand of copies and kernels.
  std::byte* data() const { return stretch_.data; }
  /// Return the bytes for reading or writing by the host. No copy or kernel may still use them, except that
  /// read() allows kernels and copies that only read. Errors: in the stand-in, DeviceFault if one may.
  virtual std::span<const std::byte> read() = 0;
  virtual std::span<std::byte> write() = 0;

 protected:
  Stretch stretch_;
};

/// A queue of work that runs in order, concurrently with the host and with other streams. The destructor
/// waits for its work. Not thread-safe; several threads may each use their own stream. Errors of all members:
/// Failure if the device failed; in the stand-in, DeviceFault (host_device.h).
class DeviceStream {
 public:
  DeviceStream() = default;
  virtual ~DeviceStream() = default;
  DeviceStream(const DeviceStream&) = delete;
  DeviceStream& operator=(const DeviceStream&) = delete;

  /// Put a copy between a region and a PinnedBuffer on the stream. The buffer must not change until the copy
  /// is done.
  virtual void copy_to_device(std::byte* to, const std::byte* from, int64_t bytes) = 0;
  virtual void copy_to_host(std::byte* to, const std::byte* from, int64_t bytes) = 0;
  /// Puts work on the stream that sets each of `bytes` bytes of a region to `byte`.
  virtual void fill(std::byte* to, uint8_t byte, int64_t bytes) = 0;
  /// Puts kernels on the stream with `work(native)`. For CUDA, `native` is a cudaStream_t, and `work` is
  /// called at once. In the stand-in, `native` is null, and `work` is called later on the stream's thread.
  /// `name` must be a literal.
  virtual void run(const char* name, std::initializer_list<Access> accesses,
                   std::function<void(void* native)> work) = 0;

  /// Records in `event` the point after all work added so far, in place of an earlier point.
  virtual void record(DeviceEvent& event) = 0;
  /// Work added to the stream from now on waits for the point last recorded in `event`, if there is one.
  virtual void wait_for(DeviceEvent& event) = 0;
  /// Blocks the host until all work is done. Errors: Failure if the device failed, or the exception that some
  /// work threw; the work after it was not run.
  virtual void wait() = 0;
  /// The cudaStream_t, for other code that puts work on the stream; null if this is not a CUDA stream.
  virtual void* native() const { return nullptr; }

 private:
  friend class DeviceRange;
  // Begin or end a piece of a range in the order of the stream. Pieces end in destructors, so a fault found
  // there is thrown by a later call on the device.
  virtual void begin_piece(Stretch) {}
  virtual void end_piece(Stretch) noexcept {}
  // Turns the memory of an ended range back into one piece.
  virtual void end_range(Stretch) noexcept {}
};

/// One stretch of device memory: the region of the device's ledger (DeviceAccount::region). No other device
/// memory is allocated after the start. The host allocates and frees long-lived pieces in it. Not
/// thread-safe.
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
  virtual void end_piece(Stretch) noexcept {}

 protected:
  Stretch stretch_;
};

/// An open device. Its context exists and is entered in the ledger. Thread-safe.
class Device {
 public:
  Device() = default;
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// Returns a name for people, such as "cuda:0, NVIDIA H100 80GB HBM3".
  virtual std::string name() const = 0;
  /// Returns the free bytes of the device. Errors: Failure.
  virtual int64_t free_bytes() const = 0;
  DeviceLedger& ledger() { return ledger_; }

  /// These four functions throw DeviceBudgetExceeded, or BudgetExceeded for pinned memory, with nothing
  /// allocated; Failure if the device has no more memory; and, in the stand-in, ThreadRefused for a stream.
  /// The returned objects must be destroyed before the device.
  virtual std::unique_ptr<DeviceMemory> take_memory(int64_t bytes) = 0;
  virtual std::unique_ptr<PinnedBuffer> pin(int64_t bytes) = 0;
  virtual std::unique_ptr<DeviceStream> make_stream() = 0;
  virtual std::unique_ptr<DeviceEvent> make_event() = 0;

 protected:
  DeviceLedger ledger_;
};

}  // namespace plimsoll
