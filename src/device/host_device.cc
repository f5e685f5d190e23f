#include "device/host_device.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/start_thread.h"
#include "base/units.h"
#include "device/device_region.h"
#include "memory/charge.h"
#include "memory/ledger.h"

namespace plimsoll {
namespace {

constexpr int kPoison = 0xFF;

// A point that a stream reaches once.
class Signal {
 public:
  void set() {
    const MutexLock lock(mutex_);
    set_ = true;
    changed_.notify_all();
  }
  bool is_set() {
    const MutexLock lock(mutex_);
    return set_;
  }
  void wait() {
    const MutexLock lock(mutex_);
    changed_.wait(mutex_, [&]() PLIMSOLL_REQUIRES(mutex_) { return set_; });
  }

 private:
  Mutex mutex_;
  ConditionVariable changed_;
  bool set_ PLIMSOLL_GUARDED_BY(mutex_) = false;
};

// The exception of the first work of a stream that failed.
class FirstFailure {
 public:
  void set(std::exception_ptr error) {
    const MutexLock lock(mutex_);
    error_ = std::move(error);
  }
  bool is_set() {
    const MutexLock lock(mutex_);
    return error_ != nullptr;
  }
  void rethrow() {
    const MutexLock lock(mutex_);
    if (error_ != nullptr) std::rethrow_exception(error_);
  }

 private:
  Mutex mutex_;
  std::exception_ptr error_ PLIMSOLL_GUARDED_BY(mutex_);
};

// The state that the parts of a device share.
class Core {
 public:
  explicit Core(HostDeviceOptions chosen) : options(std::move(chosen)), total(options.bytes) {}
  ~Core() {
    if (fault_ == nullptr) return;
    // The process ends here, because no later call can throw the fault.
    try {
      std::rethrow_exception(fault_);
    } catch (const std::exception& fault) {
      std::fprintf(stderr, "plimsoll: the stand-in for a device found: %s\n", fault.what());
    }
    std::abort();
  }
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  const HostDeviceOptions options;
  const int64_t total;
  Mutex mutex;
  AccessCheck check PLIMSOLL_GUARDED_BY(mutex);
  int64_t taken PLIMSOLL_GUARDED_BY(mutex) = 0;

  // The device's memory is accessible only while a stream works.
  void open() {
    if (options.host_computes) return;
    const MutexLock lock(mutex);
    if (working_++ == 0) protect(PROT_READ | PROT_WRITE);
  }
  void close() {
    if (options.host_computes) return;
    const MutexLock lock(mutex);
    if (--working_ == 0) protect(PROT_NONE);
  }

  Stretch map(int64_t bytes) {
    const MutexLock lock(mutex);
    throw_fault();
    if (bytes > total - taken || refuses())
      throw Failure(fmt::format("no memory on the stand-in: {} requested, {} free", format_bytes(bytes),
                                format_bytes(total - taken)));
    const int protection = working_ > 0 || options.host_computes ? PROT_READ | PROT_WRITE : PROT_NONE;
    // Without a reservation of swap space. With one, a process with a large stand-in could not fork.
    constexpr int kKind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* const data = mmap(nullptr, static_cast<size_t>(bytes), protection, kKind, -1, 0);
    if (data == MAP_FAILED) throw system_failure("map", "memory of the stand-in");
    const Stretch memory{static_cast<std::byte*>(data), bytes};
    taken += bytes;
    memories_.push_back(memory);
    check.add_memory(memory, AccessCheck::Side::device);
    return memory;
  }
  bool refuses() const { return options.refuses && options.refuses(); }
  // Runs the next work of a stream. Once one has failed, all others fail, as on a GPU.
  void work(const std::function<void()>& piece) {
    if (!failed_ && options.fails && options.fails()) failed_ = true;
    if (failed_) throw Failure("the stand-in for a device failed, as requested");
    piece();
  }

  // Keeps a fault that a destructor has caught for the next call that can throw it. A fault found while an
  // exception is in flight is a consequence of that exception, because streams are no longer waited for. Only
  // the exception is then reported.
  void keep_fault() noexcept {
    if (std::uncaught_exceptions() > 0) return;
    const MutexLock lock(mutex);
    if (fault_ == nullptr) fault_ = std::current_exception();
  }
  void throw_fault() PLIMSOLL_REQUIRES(mutex) {
    if (fault_ != nullptr) std::rethrow_exception(std::exchange(fault_, nullptr));
  }
  void require_room(Stretch piece) const {
    if (refuses()) throw DeviceRegionFull(piece.bytes, total, total);
  }
  void unmap(Stretch memory) {
    const MutexLock lock(mutex);
    check.remove_memory(memory);
    std::erase_if(memories_, [&](const Stretch& known) { return known.data == memory.data; });
    taken -= memory.bytes;
    munmap(memory.data, static_cast<size_t>(memory.bytes));
  }

 private:
  void protect(int protection) PLIMSOLL_REQUIRES(mutex) {
    for (const Stretch& memory : memories_)
      mprotect(memory.data, static_cast<size_t>(memory.bytes), protection);
  }

  int working_ PLIMSOLL_GUARDED_BY(mutex) = 0;
  std::vector<Stretch> memories_ PLIMSOLL_GUARDED_BY(mutex);
  std::exception_ptr fault_ PLIMSOLL_GUARDED_BY(mutex);
  std::atomic<bool> failed_ = false;
};

class Open {
 public:
  explicit Open(Core& core) : core_(core) { core_.open(); }
  ~Open() { core_.close(); }
  Open(const Open&) = delete;
  Open& operator=(const Open&) = delete;

 private:
  Core& core_;
};

void poison(Stretch piece) {
  std::memset(piece.data, kPoison, static_cast<size_t>(piece.bytes));
}

class HostMemory final : public DeviceMemory {
 public:
  HostMemory(Core& core, DeviceLedger& ledger, int64_t bytes) : core_(core), ledger_(ledger) {
    ledger_.take(DeviceAccount::region, bytes);
    try {
      stretch_ = core_.map(bytes);
    } catch (...) {
      ledger_.give(DeviceAccount::region, bytes);
      throw;
    }
  }
  ~HostMemory() override {
    core_.unmap(stretch_);
    ledger_.give(DeviceAccount::region, stretch_.bytes);
  }

 private:
  void begin_piece(Stretch piece) override {
    core_.require_room(piece);
    {
      const MutexLock lock(core_.mutex);
      core_.throw_fault();
      core_.check.begin_piece(AccessCheck::kHost, piece);
    }
    const Open open(core_);
    poison(piece);
  }
  void end_piece(Stretch piece) noexcept override {
    try {
      {
        const MutexLock lock(core_.mutex);
        core_.check.end_piece(AccessCheck::kHost, piece);
      }
      const Open open(core_);
      poison(piece);
    } catch (...) {
      core_.keep_fault();
    }
  }

  Core& core_;
  DeviceLedger& ledger_;
};

class HostPinned final : public PinnedBuffer {
 public:
  HostPinned(Core& core, int64_t bytes)
      : core_(core), charge_(charged(core, bytes)), room_(new std::byte[static_cast<size_t>(bytes)]) {
    stretch_ = {room_.get(), bytes};
    const MutexLock lock(core_.mutex);
    core_.check.add_memory(stretch_, AccessCheck::Side::pinned);
    core_.check.begin_piece(AccessCheck::kHost, stretch_);
  }
  ~HostPinned() override {
    const MutexLock lock(core_.mutex);
    core_.check.remove_memory(stretch_);
  }

  std::span<const std::byte> read() override { return bytes_for(reads(stretch_.data, stretch_.bytes)); }
  std::span<std::byte> write() override { return bytes_for(writes(stretch_.data, stretch_.bytes)); }

 private:
  static Charge charged(const Core& core, int64_t bytes) {
    if (core.refuses()) throw BudgetExceeded(Tag::blocks, bytes, 0, Ledger::process().cap());
    return Charge(Tag::blocks, bytes);
  }
  std::span<std::byte> bytes_for(const Access& access) {
    const MutexLock lock(core_.mutex);
    core_.check.access(AccessCheck::kHost, access.writes ? "write()" : "read()", AccessCheck::Side::pinned,
                       {&access, 1});
    return {stretch_.data, static_cast<size_t>(stretch_.bytes)};
  }

  Core& core_;
  Charge charge_;
  std::unique_ptr<std::byte[]> room_;
};

class HostStream;

class HostEvent final : public DeviceEvent {
 public:
  explicit HostEvent(Core& core) : core_(core) {}
  bool reached() override {
    if (signal_ != nullptr && !signal_->is_set()) return false;
    see();
    return true;
  }
  void wait() override {
    if (signal_ != nullptr) signal_->wait();
    see();
  }

 private:
  friend class HostStream;
  void see();

  Core& core_;
  std::shared_ptr<Signal> signal_;  // Null if never recorded.
  std::shared_ptr<FirstFailure> failed_;
  AccessCheck::Clock clock_;
};

class HostStream final : public DeviceStream {
 public:
  explicit HostStream(Core& core) : core_(core), failed_(std::make_shared<FirstFailure>()) {
    {
      const MutexLock lock(core_.mutex);
      timeline_ = core_.check.add_stream();
    }
    thread_ = start_thread([this] { work(); });
  }
  ~HostStream() override {
    {
      const MutexLock lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
  }

  void copy_to_device(std::byte* to, const std::byte* from, int64_t bytes) override {
    declare("copy_to_device", AccessCheck::Side::pinned, {reads(from, bytes)});
    declare("copy_to_device", AccessCheck::Side::device, {writes(to, bytes)});
    add([=] { std::memcpy(to, from, static_cast<size_t>(bytes)); });
  }
  void copy_to_host(std::byte* to, const std::byte* from, int64_t bytes) override {
    declare("copy_to_host", AccessCheck::Side::device, {reads(from, bytes)});
    declare("copy_to_host", AccessCheck::Side::pinned, {writes(to, bytes)});
    add([=] { std::memcpy(to, from, static_cast<size_t>(bytes)); });
  }
  void fill(std::byte* to, uint8_t byte, int64_t bytes) override {
    declare("fill", AccessCheck::Side::device, {writes(to, bytes)});
    add([=] { std::memset(to, byte, static_cast<size_t>(bytes)); });
  }
  void run(const char* name, std::initializer_list<Access> accesses,
           std::function<void(void* native)> work) override {
    declare(name, AccessCheck::Side::device, accesses);
    add([work = std::move(work)] { work(nullptr); });
  }

  void record(DeviceEvent& event) override {
    auto& mine = static_cast<HostEvent&>(event);
    mine.signal_ = std::make_shared<Signal>();
    mine.failed_ = failed_;
    {
      const MutexLock lock(core_.mutex);
      mine.clock_ = core_.check.record(timeline_);
    }
    add_always([signal = mine.signal_] { signal->set(); });
  }
  void wait_for(DeviceEvent& event) override {
    auto& mine = static_cast<HostEvent&>(event);
    if (mine.signal_ == nullptr) return;
    {
      const MutexLock lock(core_.mutex);
      core_.check.wait(timeline_, mine.clock_);
    }
    add_always([signal = mine.signal_] { signal->wait(); });
  }
  void wait() override {
    HostEvent event(core_);
    record(event);
    event.wait();
  }

 private:
  void begin_piece(Stretch piece) override {
    core_.require_room(piece);
    {
      const MutexLock lock(core_.mutex);
      core_.throw_fault();
      core_.check.begin_piece(taker(), piece);
    }
    clear(piece);
    if (!core_.options.host_computes) return;
    // The host writes to the piece without declaring its access.
    const Access all = writes(piece.data, piece.bytes);
    const MutexLock lock(core_.mutex);
    core_.check.access(taker(), "computing", AccessCheck::Side::device, {&all, 1});
  }
  void end_piece(Stretch piece) noexcept override {
    try {
      {
        const MutexLock lock(core_.mutex);
        core_.check.end_piece(taker(), piece);
      }
      clear(piece);
    } catch (...) {
      core_.keep_fault();
    }
  }
  void end_range(Stretch room) noexcept override {
    try {
      const MutexLock lock(core_.mutex);
      core_.check.begin_piece(taker(), room);
    } catch (...) {
      core_.keep_fault();
    }
  }
  // The timeline whose order the pieces of ranges follow.
  size_t taker() const { return core_.options.host_computes ? AccessCheck::kHost : timeline_; }
  void clear(Stretch piece) {
    if (core_.options.host_computes)
      poison(piece);
    else
      add([piece] { poison(piece); });
  }

  void declare(const char* name, AccessCheck::Side side, std::initializer_list<Access> accesses) {
    const MutexLock lock(core_.mutex);
    core_.throw_fault();
    core_.check.access(timeline_, name, side, {accesses.begin(), accesses.size()});
  }

  // Adds work on memory. It is skipped if earlier work has failed.
  void add(std::function<void()> work) {
    add_always([this, work = std::move(work)] {
      if (failed_->is_set()) return;
      const Open open(core_);
      try {
        core_.work(work);
      } catch (...) {
        failed_->set(std::current_exception());
      }
    });
  }
  void add_always(std::function<void()> work) {
    {
      const MutexLock lock(mutex_);
      queue_.push_back(std::move(work));
    }
    changed_.notify_all();
  }

  void work() {
    while (true) {
      std::function<void()> next;
      {
        const MutexLock lock(mutex_);
        changed_.wait(mutex_, [&]() PLIMSOLL_REQUIRES(mutex_) { return ending_ || !queue_.empty(); });
        if (queue_.empty()) return;
        next = std::move(queue_.front());
        queue_.pop_front();
      }
      next();
    }
  }

  Core& core_;
  std::shared_ptr<FirstFailure> failed_;
  size_t timeline_ = 0;
  Mutex mutex_;
  ConditionVariable changed_;
  std::deque<std::function<void()>> queue_ PLIMSOLL_GUARDED_BY(mutex_);
  bool ending_ PLIMSOLL_GUARDED_BY(mutex_) = false;
  std::jthread thread_;  // Declared last, so that it ends before the members that it uses.
};

void HostEvent::see() {
  if (signal_ == nullptr) return;
  {
    const MutexLock lock(core_.mutex);
    core_.check.wait(AccessCheck::kHost, clock_);
  }
  failed_->rethrow();
  const MutexLock lock(core_.mutex);
  core_.throw_fault();
}

class HostDevice final : public Device {
 public:
  explicit HostDevice(HostDeviceOptions options) : core_(std::move(options)) {
    ledger_.take(DeviceAccount::context, core_.options.context_bytes);
    core_.taken = core_.options.context_bytes;
  }

  std::string name() const override { return "host stand-in"; }
  int64_t free_bytes() const override {
    const MutexLock lock(core_.mutex);
    return core_.total - core_.taken;
  }
  std::unique_ptr<DeviceMemory> take_memory(int64_t bytes) override {
    return std::make_unique<HostMemory>(core_, ledger_, bytes);
  }
  std::unique_ptr<PinnedBuffer> pin(int64_t bytes) override {
    return std::make_unique<HostPinned>(core_, bytes);
  }
  std::unique_ptr<DeviceStream> make_stream() override { return std::make_unique<HostStream>(core_); }
  std::unique_ptr<DeviceEvent> make_event() override { return std::make_unique<HostEvent>(core_); }

 private:
  mutable Core core_;
};

}  // namespace

std::unique_ptr<Device> make_host_device(HostDeviceOptions options) {
  return std::make_unique<HostDevice>(std::move(options));
}

}  // namespace plimsoll
