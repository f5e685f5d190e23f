#include <unistd.h>

#include <cerrno>
#include <vector>

#include "base/workers.h"
#include "io/extent_reader.h"

namespace plimsoll {
namespace {

class PoolReader : public ExtentReader {
 public:
  PoolReader(const AlignedFile& file, int buffers, int64_t buffer_bytes)
      : file_(file),
        buffers_(buffers, buffer_bytes),
        extents_(static_cast<size_t>(buffers)),
        workers_(buffers) {}

  void read(const Next& next, const Use& use) override {
    workers_.run_stream([&](int64_t, int worker) { return next(extents_[static_cast<size_t>(worker)]); },
                        [&](int64_t, Turn& turn) {
                          const Extent& extent = extents_[static_cast<size_t>(turn.worker())];
                          std::byte* const data = buffers_[turn.worker()];
                          fetch(extent, data);
                          use(extent, data);
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
  std::vector<Extent> extents_;  // [workers]
  Workers workers_;
};

}  // namespace

std::unique_ptr<ExtentReader> make_pool_reader(const AlignedFile& file, int buffers, int64_t buffer_bytes) {
  return std::make_unique<PoolReader>(file, buffers, buffer_bytes);
}

}  // namespace plimsoll
