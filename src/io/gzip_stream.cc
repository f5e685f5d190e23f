#include <zlib.h>

#include <algorithm>

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
    stream_.opaque = &refused_;
    stream_.zalloc = [](void* refused, uInt items, uInt size) {
      const size_t bytes = size_t{items} * size;
      void* const data = ledger_malloc(Tag::ingest, bytes);
      if (data == nullptr) *static_cast<int64_t*>(refused) = static_cast<int64_t>(bytes);
      return data;
    };
    stream_.zfree = [](void*, void* data) { ledger_free(data); };
    constexpr int kGzipWindow = 15 + 16;
    if (inflateInit2(&stream_, kGzipWindow) != Z_OK) fail_for_memory();
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
      // A gzip file may be several members, one after the other.
      if (member_ended_ && inflateReset(&stream_) != Z_OK) fail();
      const int result = inflate(&stream_, Z_NO_FLUSH);
      if (result == Z_MEM_ERROR) fail_for_memory();
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

  [[noreturn]] void fail_for_memory() const {
    const int64_t cap = Ledger::process().cap();
    throw BudgetExceeded(Tag::ingest, refused_, std::max<int64_t>(cap - Ledger::process().held(), 0), cap);
  }

  SourceReader source_;
  Vector<char, Tag::ingest> in_;
  z_stream stream_{};
  bool member_ended_ = false;
  int64_t refused_ = 0;  // bytes of the last piece that the ledger refused to zlib
};

}  // namespace

std::unique_ptr<InputStream> open_gzip(const std::filesystem::path& path) {
  return std::make_unique<GzipStream>(path);
}

}  // namespace plimsoll
