#include "io/inflater.h"

#include <zlib.h>

#include <algorithm>

#include "base/error.h"
#include "memory/c_heap.h"

namespace plimsoll {

struct Inflater::State {
  z_stream stream{};
  int64_t refused = 0;  // Bytes of the last allocation that the ledger refused to zlib.

  [[noreturn]] void fail_for_memory() const {
    const int64_t cap = Ledger::process().cap();
    throw BudgetExceeded(Tag::ingest, refused, cap - Ledger::process().held(), cap);
  }
};

Inflater::Inflater(Wrapper wrapper) : state_(std::make_unique<State>()) {
  z_stream& stream = state_->stream;
  stream.opaque = &state_->refused;
  stream.zalloc = [](void* refused, uInt items, uInt size) {
    const size_t bytes = size_t{items} * size;
    void* const data = ledger_malloc(Tag::ingest, bytes);
    if (data == nullptr) *static_cast<int64_t*>(refused) = static_cast<int64_t>(bytes);
    return data;
  };
  stream.zfree = [](void*, void* data) { ledger_free(data); };
  constexpr int kWindow = 15;
  constexpr int kGzip = 16;
  if (inflateInit2(&stream, wrapper == Wrapper::gzip ? kWindow + kGzip : kWindow) != Z_OK)
    state_->fail_for_memory();
}

Inflater::~Inflater() {
  inflateEnd(&state_->stream);
}

Inflater::Step Inflater::run(std::span<const char> in, std::span<char> out) {
  z_stream& stream = state_->stream;
  constexpr size_t kMax = size_t{1} << 30;  // Maximum for zlib's uInt.
  in = in.first(std::min(in.size(), kMax));
  out = out.first(std::min(out.size(), kMax));
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int result = inflate(&stream, Z_NO_FLUSH);
  if (result == Z_MEM_ERROR) state_->fail_for_memory();
  Step step{in.size() - stream.avail_in, out.size() - stream.avail_out, result == Z_STREAM_END, nullptr};
  if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
    step.damage = stream.msg != nullptr ? stream.msg : "unexpected data";
  return step;
}

void Inflater::reset() {
  inflateReset(&state_->stream);
}

}  // namespace plimsoll
