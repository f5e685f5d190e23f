#include <unistd.h>

#include <cerrno>

#include "base/mutex.h"
#include "base/workers.h"
#include "io/extent_reader.h"
#include "memory/charge.h"
#include "memory/enforce.h"

namespace plimsoll {
namespace {

class PoolReader : public ExtentReader {
 public:
  PoolReader(const AlignedFile& file, int buffers, int64_t buffer_bytes)
      : file_(file),
        buffers_(buffers, buffer_bytes),
        stacks_(Tag::cache, (buffers - 1) * kPoolStackBytes),
        addresses_(buffers - 1),
        workers_(buffers) {}

  // Each work item reads extents until none are left. With one work item per extent, all threads would be
  // woken for each extent.
  void read(const Next& next, const Use& use) override {
    Mutex mutex;
    bool more PLIMSOLL_GUARDED_BY(mutex) = true;
    workers_.run_ordered(buffers_.count(), [&](int64_t buffer, Turn&) {
      std::byte* const data = buffers_[static_cast<int>(buffer)];
      Extent extent;
      const auto take = [&] {
        const MutexLock lock(mutex);
        more = more && next(extent);
        if (more) require_room(file_, extent, buffers_.bytes());
        return more;
      };
      try {
        while (take()) {
          fetch(extent, data);
          use(extent, data);
        }
      } catch (...) {
        const MutexLock lock(mutex);
        more = false;
        throw;
      }
    });
  }

 private:
  void fetch(const Extent& extent, std::byte* data) const {
    int64_t done = 0;
    int64_t got = 0;
    do {
      got = ::pread(file_.file.descriptor(), data + done, static_cast<size_t>(extent.bytes - done),
                    extent.offset + done);
      if (got < 0) got = -errno;
    } while (!advance(file_, extent, done, got));
  }

  const AlignedFile& file_;
  ReadBuffers buffers_;
  Charge stacks_;
  ThreadStacks addresses_;
  Workers workers_;
};

}  // namespace

std::unique_ptr<ExtentReader> make_pool_reader(const AlignedFile& file, int buffers, int64_t buffer_bytes) {
  return std::make_unique<PoolReader>(file, buffers, buffer_bytes);
}

}  // namespace plimsoll
