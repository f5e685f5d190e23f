#include "device/cuda_device.h"

#ifdef PLIMSOLL_CUDA
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <optional>
#include <utility>

#include "device/device_choice.h"
#include "memory/charge.h"

namespace plimsoll {
namespace {

void require(cudaError_t error, const char* what) {
  if (error != cudaSuccess) throw Failure(fmt::format("{}: {}", what, cudaGetErrorString(error)));
}

// Makes `index` the device of the calling thread while it lives, unless CUDA refuses. For destructors, which
// free what they can: after a device has failed, every CUDA call may fail, and only the first error must be
// reported.
class CurrentIfPossible {
 public:
  explicit CurrentIfPossible(int index) noexcept : error_(cudaGetDevice(&before_)) {
    if (error_ == cudaSuccess) error_ = cudaSetDevice(index);
  }
  ~CurrentIfPossible() {
    if (before_ >= 0) cudaSetDevice(before_);
  }
  CurrentIfPossible(const CurrentIfPossible&) = delete;
  CurrentIfPossible& operator=(const CurrentIfPossible&) = delete;

  cudaError_t error() const { return error_; }

 private:
  int before_ = -1;
  cudaError_t error_;
};

// Makes `index` the device of the calling thread, for use outside destructors. Errors: Failure.
class Current : CurrentIfPossible {
 public:
  explicit Current(int index) : CurrentIfPossible(index) { require(error(), "a CUDA device"); }
};

class CudaMemory final : public DeviceMemory {
 public:
  CudaMemory(int index, DeviceLedger& ledger, int64_t bytes) : index_(index), ledger_(ledger) {
    const Current current(index_);
    ledger_.take(DeviceAccount::region, bytes);
    void* data = nullptr;
    const cudaError_t error = cudaMalloc(&data, static_cast<size_t>(bytes));
    if (error != cudaSuccess) ledger_.give(DeviceAccount::region, bytes);
    require(error, "no memory on the CUDA device for its region");
    stretch_ = {static_cast<std::byte*>(data), bytes};
  }
  ~CudaMemory() override {
    const CurrentIfPossible current(index_);
    cudaFree(stretch_.data);
    ledger_.give(DeviceAccount::region, stretch_.bytes);
  }

 private:
  int index_;
  DeviceLedger& ledger_;
};

class CudaPinned final : public PinnedBuffer {
 public:
  CudaPinned(int index, int64_t bytes) : charge_(Tag::blocks, bytes) {
    const Current current(index);
    void* data = nullptr;
    require(cudaHostAlloc(&data, static_cast<size_t>(bytes), cudaHostAllocDefault), "pinned memory");
    stretch_ = {static_cast<std::byte*>(data), bytes};
  }
  ~CudaPinned() override { cudaFreeHost(stretch_.data); }

  std::span<const std::byte> read() override { return write(); }
  std::span<std::byte> write() override { return {stretch_.data, static_cast<size_t>(stretch_.bytes)}; }

 private:
  Charge charge_;
};

class CudaEvent final : public DeviceEvent {
 public:
  explicit CudaEvent(int index) {
    const Current current(index);
    require(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventBlockingSync), "a CUDA event");
  }
  ~CudaEvent() override { cudaEventDestroy(event); }

  bool reached() override {
    const cudaError_t state = cudaEventQuery(event);
    if (state == cudaErrorNotReady) return false;
    require(state, "work on the CUDA device");
    return true;
  }
  void wait() override { require(cudaEventSynchronize(event), "work on the CUDA device"); }

  cudaEvent_t event = nullptr;
};

class CudaStream final : public DeviceStream {
 public:
  explicit CudaStream(int index) : index_(index) {
    const Current current(index_);
    require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a CUDA stream");
  }
  ~CudaStream() override {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }

  void copy_to_device(std::byte* to, const std::byte* from, int64_t bytes) override {
    copy(to, from, bytes, cudaMemcpyHostToDevice);
  }
  void copy_to_host(std::byte* to, const std::byte* from, int64_t bytes) override {
    copy(to, from, bytes, cudaMemcpyDeviceToHost);
  }
  void fill(std::byte* to, uint8_t byte, int64_t bytes) override {
    const Current current(index_);
    require(cudaMemsetAsync(to, byte, static_cast<size_t>(bytes), stream_), "a fill on the CUDA device");
  }
  void run(const char*, std::initializer_list<Access>, std::function<void(void* native)> work) override {
    const Current current(index_);
    work(stream_);
  }
  void record(DeviceEvent& event) override {
    const Current current(index_);
    require(cudaEventRecord(static_cast<CudaEvent&>(event).event, stream_), "a CUDA event");
  }
  void wait_for(DeviceEvent& event) override {
    const Current current(index_);
    require(cudaStreamWaitEvent(stream_, static_cast<CudaEvent&>(event).event, 0), "a CUDA event");
  }
  void wait() override { require(cudaStreamSynchronize(stream_), "work on the CUDA device"); }
  void* native() const override { return stream_; }

 private:
  void copy(void* to, const void* from, int64_t bytes, cudaMemcpyKind kind) {
    const Current current(index_);
    require(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), kind, stream_),
            "a copy of the CUDA device");
  }

  int index_;
  cudaStream_t stream_ = nullptr;
};

class CudaDevice final : public Device {
 public:
  CudaDevice(int index, int64_t budget, const GpuMonitor* monitor) : index_(index) {
    ledger_.set_budget(budget);
    const Current current(index);
    require(cudaFree(nullptr), "the context of the CUDA device");
    const auto [free, total] = memory();
    const auto reading = monitor != nullptr ? monitor->read() : std::nullopt;
    ledger_.take(DeviceAccount::context, reading ? reading->held : total - free);
  }

  std::string name() const override { return cuda_device_name(index_); }
  int64_t free_bytes() const override {
    const Current current(index_);
    return memory().first;
  }
  std::unique_ptr<DeviceMemory> take_memory(int64_t bytes) override {
    return std::make_unique<CudaMemory>(index_, ledger_, bytes);
  }
  std::unique_ptr<PinnedBuffer> pin(int64_t bytes) override {
    return std::make_unique<CudaPinned>(index_, bytes);
  }
  std::unique_ptr<DeviceStream> make_stream() override { return std::make_unique<CudaStream>(index_); }
  std::unique_ptr<DeviceEvent> make_event() override { return std::make_unique<CudaEvent>(index_); }

 private:
  // Returns free and total bytes of the thread's device.
  static std::pair<int64_t, int64_t> memory() {
    size_t free = 0;
    size_t total = 0;
    require(cudaMemGetInfo(&free, &total), "the memory of the CUDA device");
    return {static_cast<int64_t>(free), static_cast<int64_t>(total)};
  }

  int index_;
};

}  // namespace

CudaDevices find_cuda_devices() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return {count, {}};
  if (const char* const visible = std::getenv(kVisibleDevices); visible != nullptr && *visible == '\0')
    return {0, kNoneVisible};
  return {0, fmt::format("no NVIDIA GPU can be used here ({}); `nvidia-smi` must list one",
                         error == cudaSuccess ? "CUDA finds none" : cudaGetErrorString(error))};
}

std::unique_ptr<Device> open_cuda_device(int index, int64_t budget, const GpuMonitor* monitor) {
  return std::make_unique<CudaDevice>(index, budget, monitor);
}

std::unique_ptr<GpuMonitor> monitor_cuda_device(int index) {
  std::array<char, 32> bus{};
  if (cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), index) != cudaSuccess) return nullptr;
  return GpuMonitor::open(bus.data());
}

std::string cuda_device_name(int index) {
  cudaDeviceProp properties{};
  require(cudaGetDeviceProperties(&properties, index), "the CUDA device");
  return fmt::format("cuda:{}, {}", index, properties.name);
}

std::string cuda_device_id(int index) {
  cudaDeviceProp properties{};
  require(cudaGetDeviceProperties(&properties, index), "the CUDA device");
  std::string id;
  for (const char byte : properties.uuid.bytes) id += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return id;
}

int64_t cuda_device_bytes(int index) {
  cudaDeviceProp properties{};
  require(cudaGetDeviceProperties(&properties, index), "the CUDA device");
  return static_cast<int64_t>(properties.totalGlobalMem);
}

}  // namespace plimsoll
#endif
