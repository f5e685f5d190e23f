// The advanced constructor accepts an allocator. The shared library exports it, but its header declares it as
// "static only".
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>

#include "base/error.h"
#include "io/input_stream.h"
#include "io/source_reader.h"
#include "memory/c_heap.h"
#include "memory/vector.h"

namespace plimsoll {
namespace {

class ZstdStream : public InputStream {
 public:
  ZstdStream(const std::filesystem::path& path, AtCut at_cut)
      : source_(path), in_(ZSTD_DStreamInSize()), at_cut_(at_cut) {
    const auto allocate = [](void* refused, size_t bytes) {
      void* const data = ledger_malloc(Tag::ingest, bytes);
      if (data == nullptr) *static_cast<int64_t*>(refused) = static_cast<int64_t>(bytes);
      return data;
    };
    context_ = ZSTD_createDCtx_advanced({allocate, [](void*, void* data) { ledger_free(data); }, &refused_});
    if (context_ == nullptr) fail_for_memory();
    // Allows any window that zstd can write. The ledger determines what fits, not zstd's own limit of 128
    // MiB.
    ZSTD_DCtx_setParameter(context_, ZSTD_d_windowLogMax, ZSTD_WINDOWLOG_MAX);
  }
  ~ZstdStream() override { ZSTD_freeDCtx(context_); }
  ZstdStream(const ZstdStream&) = delete;
  ZstdStream& operator=(const ZstdStream&) = delete;

  size_t read(char* data, size_t bytes) override {
    ZSTD_outBuffer out{data, bytes, 0};
    while (out.pos < bytes) {
      if (input_.pos == input_.size) {
        input_ = {in_.data(), source_.read(in_.data(), in_.size()), 0};
        if (input_.size == 0) {
          if (!open_frame_) break;
          // zstd may still hold part of the text.
          const size_t before = out.pos;
          decompress(out);
          if (out.pos > before) continue;
          cut_off_ = true;
          if (at_cut_ == AtCut::stop) break;
          throw InputError(source_.path() + ": the zstd data is cut off; fetch the file again");
        }
      }
      decompress(out);
    }
    return out.pos;
  }
  int64_t bytes_read() const override { return source_.bytes_read(); }
  std::string source_hash() const override { return source_.hash(); }
  bool is_cut_off() const override { return cut_off_; }

 private:
  void decompress(ZSTD_outBuffer& out) {
    const size_t result = ZSTD_decompressStream(context_, &out, &input_);
    if (ZSTD_isError(result)) fail(result);
    open_frame_ = result != 0;
  }

  [[noreturn]] void fail(size_t result) const {
    if (ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation) fail_for_memory();
    throw InputError(source_.path() + ": damaged zstd data near byte " +
                     std::to_string(source_.bytes_read() - static_cast<int64_t>(input_.size - input_.pos)) +
                     " (" + ZSTD_getErrorName(result) + "); fetch the file again");
  }

  [[noreturn]] void fail_for_memory() const {
    const int64_t cap = Ledger::process().cap();
    throw BudgetExceeded(Tag::ingest, refused_, cap - Ledger::process().held(), cap);
  }

  SourceReader source_;
  Vector<char, Tag::ingest> in_;
  ZSTD_inBuffer input_{nullptr, 0, 0};
  ZSTD_DCtx* context_ = nullptr;
  // True also before the first frame: an empty file has no frame, so it is incomplete.
  bool open_frame_ = true;
  int64_t refused_ = 0;  // Bytes of the last allocation that the ledger refused to zstd.
  AtCut at_cut_;
  bool cut_off_ = false;
};

}  // namespace

std::unique_ptr<InputStream> open_zstd(const std::filesystem::path& path, AtCut at_cut) {
  return std::make_unique<ZstdStream>(path, at_cut);
}

}  // namespace plimsoll
