#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace plimsoll {

/// Asynchronous reads and writes of files by io_uring. The memory of a request belongs to the caller and must
/// stay valid until the request is done, so all requests must be done before the ring is destroyed. Not
/// thread-safe.
class Ring {
 public:
  /// Makes a ring for at most `entries` requests at a time. Returns null if the kernel refuses.
  static std::unique_ptr<Ring> make(int entries);
  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  /// Registers memory, so that the kernel need not look up its pages for each read. It has no effect if a
  /// limit on locked memory forbids it. All later reads must use this memory. No request may be under way.
  void keep_locked(std::byte* data, int64_t bytes);

  /// read() and write() queue a request for the next submit(), of less than 4 GiB. next() returns `id` when
  /// the request is done. Of the entries of make(), one must be free.
  void read(int file, int64_t offset, std::byte* data, int64_t bytes, uint64_t id);
  void write(int file, int64_t offset, const std::byte* data, int64_t bytes, uint64_t id);
  /// Submits queued requests and waits until `wait_for` requests are done that next() has not returned.
  /// Returns 0, also if the wait was interrupted and fewer are done, or an errno value if the kernel accepts
  /// no more.
  int submit(int wait_for);
  /// Waits until all requests that the kernel has accepted are done; next() then returns them. Unlike
  /// submit(), it makes no system call that could fail. Requests that the kernel has not accepted stay queued
  /// until the next submit().
  void settle();

  struct Done {
    uint64_t id = 0;
    int64_t result = 0;  ///< Bytes, or -errno.
  };
  /// Returns a finished request that was not returned before, if there is one.
  std::optional<Done> next();

 private:
  struct State;
  explicit Ring(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace plimsoll
