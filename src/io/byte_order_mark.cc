#include "io/byte_order_mark.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace plimsoll {
namespace {

class Unmarked : public InputStream {
 public:
  explicit Unmarked(std::unique_ptr<InputStream> stream) : stream_(std::move(stream)) {}

  size_t read(char* data, size_t bytes) override {
    if (!begun_) begin();
    const size_t kept = std::min(bytes, held_.size());
    std::copy_n(held_.begin(), kept, data);
    held_.remove_prefix(kept);
    return kept + (kept < bytes ? stream_->read(data + kept, bytes - kept) : 0);
  }
  int64_t bytes_read() const override { return stream_->bytes_read(); }
  std::string source_hash() const override { return stream_->source_hash(); }
  bool is_cut_off() const override { return stream_->is_cut_off(); }

 private:
  void begin() {
    begun_ = true;
    held_ = {first_.data(), stream_->read(first_.data(), first_.size())};
    if (held_ == "\xEF\xBB\xBF") held_ = {};
  }

  std::unique_ptr<InputStream> stream_;
  std::array<char, 3> first_{};
  std::string_view held_;  // The part of first_ that has not been read yet.
  bool begun_ = false;
};

}  // namespace

std::unique_ptr<InputStream> without_byte_order_mark(std::unique_ptr<InputStream> stream) {
  return std::make_unique<Unmarked>(std::move(stream));
}

}  // namespace plimsoll
