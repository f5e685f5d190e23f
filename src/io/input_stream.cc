#include "io/input_stream.h"

#include "io/byte_order_mark.h"
#include "io/compression.h"
#include "io/source_reader.h"

namespace plimsoll {

// Defined in io/zstd_stream.cc.
std::unique_ptr<InputStream> open_zstd(const std::filesystem::path& path, AtCut at_cut);
// Defined in io/gzip_stream.cc.
std::unique_ptr<InputStream> open_gzip(const std::filesystem::path& path, AtCut at_cut);

namespace {

class PlainStream : public InputStream {
 public:
  explicit PlainStream(const std::filesystem::path& path) : source_(path) {}

  size_t read(char* data, size_t bytes) override {
    size_t filled = 0;
    while (filled < bytes) {
      const size_t got = source_.read(data + filled, bytes - filled);
      if (got == 0) break;
      filled += got;
    }
    return filled;
  }
  int64_t bytes_read() const override { return source_.bytes_read(); }
  std::string source_hash() const override { return source_.hash(); }

 private:
  SourceReader source_;
};

}  // namespace

std::unique_ptr<InputStream> InputStream::open(const std::filesystem::path& path, AtCut at_cut) {
  const Compression compression = compression_of(path);
  if (compression == Compression::zstd) return without_byte_order_mark(open_zstd(path, at_cut));
  if (compression == Compression::gzip) return without_byte_order_mark(open_gzip(path, at_cut));
  return without_byte_order_mark(std::make_unique<PlainStream>(path));
}

}  // namespace plimsoll
