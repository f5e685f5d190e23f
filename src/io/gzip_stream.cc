#include <zlib.h>

#include "base/error.h"
#include "io/input_stream.h"
#include "io/source_reader.h"
#include "memory/c_heap.h"
#include "memory/vector.h"

namespace plimsoll {
namespace {

class GzipStream : public InputStream {
 public:
  explicit GzipStream(const std::filesystem::path& path) : source_(path), in_(128 * 1024) {
    stream_.zalloc = [](void*, uInt items, uInt size) {
      return ledger_malloc(Tag::ingest, size_t{items} * size);
    };
    stream_.zfree = [](void*, void* data) { ledger_free(data); };
    constexpr int kGzipWindow = 15 + 16;
    if (inflateInit2(&stream_, kGzipWindow) != Z_OK)
      throw BudgetExceeded(Tag::ingest, 64 * 1024, 0, Ledger::process().cap());
  }
  ~GzipStream() override { inflateEnd(&stream_); }
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  size_t read(char* data, size_t bytes) override {
    stream_.next_out = reinterpret_cast<Bytef*>(data);
    stream_.avail_out = static_cast<uInt>(bytes);
    while (stream_.avail_out > 0) {
      if (stream_.avail_in == 0) {
        stream_.next_in = reinterpret_cast<Bytef*>(in_.data());
        stream_.avail_in = static_cast<uInt>(source_.read(in_.data(), in_.size()));
        if (stream_.avail_in == 0) {
          if (!member_ended_)
            throw InputError(source_.path() + ": the gzip data is cut off; fetch the file again");
          break;
        }
      }
      // A gzip file may be several members, one behind the other.
      if (member_ended_ && inflateReset(&stream_) != Z_OK) fail();
      const int result = inflate(&stream_, Z_NO_FLUSH);
      if (result != Z_OK && result != Z_STREAM_END) fail();
      member_ended_ = result == Z_STREAM_END;
    }
    return bytes - stream_.avail_out;
  }
  int64_t bytes_read() const override { return source_.bytes_read(); }
  std::string source_hash() const override { return source_.hash(); }

 private:
  [[noreturn]] void fail() const {
    throw InputError(source_.path() + ": damaged gzip data near byte " +
                     std::to_string(source_.bytes_read()) + " (" +
                     (stream_.msg != nullptr ? stream_.msg : "unexpected end") + "); fetch the file again");
  }

  SourceReader source_;
  Vector<char, Tag::ingest> in_;
  z_stream stream_{};
  bool member_ended_ = false;
};

}  // namespace

std::unique_ptr<InputStream> open_gzip(const std::filesystem::path& path) {
  return std::make_unique<GzipStream>(path);
}

}  // namespace plimsoll
