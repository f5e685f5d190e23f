#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <vector>

#include "io/extent_reader.h"
#include "io/ring.h"

namespace plimsoll {
namespace {

class RingReader : public ExtentReader {
 public:
  RingReader(const AlignedFile& file, std::unique_ptr<Ring> ring, ReadBuffers buffers)
      : file_(file), buffers_(std::move(buffers)), reads_(static_cast<size_t>(buffers_.count())) {
    start(std::move(ring));
  }
  RingReader(const RingReader&) = delete;
  RingReader& operator=(const RingReader&) = delete;

  void read(const Next& next, const Use& use) override {
    if (!ring_) start(Ring::make(buffers_.count()));
    if (!ring_) throw Failure(fmt::format("cannot read {}: io_uring is refused", file_.file.path()));
    std::exception_ptr error;  // The first error. It is thrown once all reads under way are done.
    for (bool more = true;;) {
      try {
        while (more && !free_.empty()) more = queue_next(next);
      } catch (...) {
        if (!error) error = std::current_exception();
      }
      if (under_way() == 0) break;
      const bool goes_on = submit_and_wait(error);
      reap(use, error);
      if (!goes_on) {
        ring_.reset();  // Also drops requests that the kernel did not take.
        break;
      }
      if (error) more = false;
    }
    if (error) std::rethrow_exception(error);
  }

 private:
  struct Read {
    Extent extent;
    int64_t done = 0;
  };

  int under_way() const { return buffers_.count() - static_cast<int>(free_.size()); }

  void start(std::unique_ptr<Ring> ring) {
    ring_ = std::move(ring);
    if (ring_) ring_->keep_locked(buffers_[0], buffers_.count() * buffers_.bytes());
    free_.clear();
    for (int buffer = 0; buffer < buffers_.count(); ++buffer) free_.push_back(buffer);
  }

  bool queue_next(const Next& next) {
    const int buffer = free_.back();
    Read& read = reads_[static_cast<size_t>(buffer)];
    read.done = 0;
    if (!next(read.extent)) return false;
    require_room(file_, read.extent, buffers_.bytes());
    free_.pop_back();
    queue(buffer);
    return true;
  }

  void queue(int buffer) {
    const Read& read = reads_[static_cast<size_t>(buffer)];
    ring_->read(file_.file.descriptor(), read.extent.offset + read.done, buffers_[buffer] + read.done,
                read.extent.bytes - read.done, static_cast<uint64_t>(buffer));
  }

  // Waits for several requests at a time, which saves calls and keeps most of the queue with the device.
  // Returns false if the kernel accepts no more; then no read is under way.
  bool submit_and_wait(std::exception_ptr& error) {
    const int enough = std::clamp(under_way() / 4, 1, 16);
    errno = ring_->submit(enough);
    if (errno == 0) return true;
    if (!error) error = std::make_exception_ptr(file_failure("io_uring failed on", file_.file.path()));
    ring_->settle();
    return false;
  }

  void reap(const Use& use, std::exception_ptr& error) {
    while (const std::optional<Ring::Done> done = ring_->next()) {
      const auto buffer = static_cast<int>(done->id);
      Read& read = reads_[static_cast<size_t>(buffer)];
      try {
        if (!advance(file_, read.extent, read.done, done->result)) {
          queue(buffer);
          continue;
        }
        use(read.extent, buffers_[buffer]);
      } catch (...) {
        if (!error) error = std::current_exception();
      }
      free_.push_back(buffer);
    }
  }

  const AlignedFile& file_;
  ReadBuffers buffers_;
  std::vector<Read> reads_;  // [buffers]
  std::vector<int> free_;    // Buffers without a read under way.
  std::unique_ptr<Ring> ring_;
};

}  // namespace

std::unique_ptr<ExtentReader> make_ring_reader(const AlignedFile& file, int buffers, int64_t buffer_bytes) {
  ReadBuffers memory(buffers, buffer_bytes);
  std::unique_ptr<Ring> ring = Ring::make(buffers);
  if (!ring) return nullptr;
  return std::make_unique<RingReader>(file, std::move(ring), std::move(memory));
}

}  // namespace plimsoll
