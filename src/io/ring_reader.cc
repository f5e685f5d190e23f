#include <liburing.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <vector>

#include "io/extent_reader.h"

namespace plimsoll {
namespace {

class RingReader : public ExtentReader {
 public:
  RingReader(const AlignedFile& file, const io_uring& ring, ReadBuffers buffers)
      : file_(file),
        ring_(ring),
        buffers_(std::move(buffers)),
        reads_(static_cast<size_t>(buffers_.count())) {
    for (int buffer = 0; buffer < buffers_.count(); ++buffer) free_.push_back(buffer);
    // Spares the kernel to look for the pages at each read; there may be a limit on locked memory.
    const iovec whole{buffers_[0], static_cast<size_t>(buffers_.count() * buffers_.bytes())};
    registered_ = ::io_uring_register_buffers(&ring_, &whole, 1) == 0;
  }
  ~RingReader() override { ::io_uring_queue_exit(&ring_); }
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
    io_uring_sqe* const entry = ::io_uring_get_sqe(&ring_);  // there is one for each buffer
    std::byte* const data = buffers_[buffer] + read.done;
    const auto bytes = static_cast<unsigned>(read.extent.bytes - read.done);
    const auto offset = static_cast<uint64_t>(read.extent.offset + read.done);
    if (registered_)
      ::io_uring_prep_read_fixed(entry, file_.file.descriptor(), data, bytes, offset, 0);
    else
      ::io_uring_prep_read(entry, file_.file.descriptor(), data, bytes, offset);
    ::io_uring_sqe_set_data64(entry, static_cast<uint64_t>(buffer));
  }

  // Waits for some at a time, which spares calls and leaves most of the queue with the device.
  void submit_and_wait() {
    const int enough = std::clamp(under_way() / 4, 1, 16);
    const int result = ::io_uring_submit_and_wait(&ring_, static_cast<unsigned>(enough));
    if (result >= 0 || result == -EINTR || result == -EAGAIN || result == -EBUSY) return;
    errno = -result;
    throw file_failure("io_uring failed on", file_.file.path());
  }

  void reap(const Use& use, std::exception_ptr& error) {
    io_uring_cqe* entry = nullptr;
    while (::io_uring_peek_cqe(&ring_, &entry) == 0) {
      const auto buffer = static_cast<int>(::io_uring_cqe_get_data64(entry));
      const int64_t got = entry->res;
      ::io_uring_cqe_seen(&ring_, entry);
      Read& read = reads_[static_cast<size_t>(buffer)];
      try {
        if (!advance(file_, read.extent, read.done, got)) {
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
  io_uring ring_;
  ReadBuffers buffers_;
  bool registered_ = false;
  std::vector<Read> reads_;  // [buffers]
  std::vector<int> free_;    // buffers that nothing is read into
};

}  // namespace

std::unique_ptr<ExtentReader> make_ring_reader(const AlignedFile& file, int buffers, int64_t buffer_bytes) {
  ReadBuffers memory(buffers, buffer_bytes);
  io_uring ring;
  const auto entries = static_cast<unsigned>(buffers);
  // Without interrupts of the thread that waits anyway; Linux 5.19.
  if (::io_uring_queue_init(entries, &ring, IORING_SETUP_COOP_TASKRUN) != 0 &&
      ::io_uring_queue_init(entries, &ring, 0) != 0)
    return nullptr;
  return std::make_unique<RingReader>(file, ring, std::move(memory));
}

}  // namespace plimsoll
