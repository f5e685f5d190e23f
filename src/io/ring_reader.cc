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
      : file_(file),
        buffers_(std::move(buffers)),
        reads_(static_cast<size_t>(buffers_.count())),
        ring_(std::move(ring)) {
    for (int buffer = 0; buffer < buffers_.count(); ++buffer) free_.push_back(buffer);
    ring_->keep_locked(buffers_[0], buffers_.count() * buffers_.bytes());
  }
  RingReader(const RingReader&) = delete;
  RingReader& operator=(const RingReader&) = delete;

  void read(const Next& next, const Use& use) override {
    std::exception_ptr error;  // the first; what is under way ends before it is thrown
    for (bool more = true;;) {
      while (more && !free_.empty()) {
        const int buffer = free_.back();
        Read& read = reads_[static_cast<size_t>(buffer)];
        read.done = 0;
        more = next(read.extent);
        if (!more) break;
        free_.pop_back();
        queue(buffer);
      }
      if (under_way() == 0) break;
      submit_and_wait();
      reap(use, error);
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

  void queue(int buffer) {
    const Read& read = reads_[static_cast<size_t>(buffer)];
    ring_->read(file_.file.descriptor(), read.extent.offset + read.done, buffers_[buffer] + read.done,
                read.extent.bytes - read.done, static_cast<uint64_t>(buffer));
  }

  // Waits for some at a time, which spares calls and leaves most of the queue with the device.
  void submit_and_wait() {
    const int enough = std::clamp(under_way() / 4, 1, 16);
    errno = ring_->submit(enough);
    if (errno != 0) throw file_failure("io_uring failed on", file_.file.path());
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
  std::vector<int> free_;    // buffers that nothing is read into
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
