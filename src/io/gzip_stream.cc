#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "io/inflater.h"
#include "io/input_stream.h"
#include "io/source_reader.h"
#include "memory/vector.h"

namespace plimsoll {
namespace {

// Checks the first bytes of a file; `bytes` may contain as little as one byte.
bool is_gzip(std::span<const char> bytes) {
  constexpr std::string_view kMagic = "\x1F\x8B";
  return kMagic.starts_with(std::string_view(bytes.data(), std::min(bytes.size(), kMagic.size())));
}

class GzipStream : public InputStream {
 public:
  GzipStream(const std::filesystem::path& path, AtCut at_cut)
      : source_(path), in_(128 * 1024), at_cut_(at_cut) {}

  size_t read(char* data, size_t bytes) override {
    size_t filled = 0;
    while (filled < bytes) {
      if (held_.empty()) {
        held_ = {in_.data(), source_.read(in_.data(), in_.size())};
        if (held_.empty()) {
          if (member_ended_) break;
          // zlib may still hold part of the text.
          const size_t rest = inflater_.run({}, {data + filled, bytes - filled}).given;
          filled += rest;
          if (rest > 0) continue;
          cut_off_ = true;
          if (at_cut_ == AtCut::stop) break;
          throw InputError(source_.path() + ": the gzip data is cut off; fetch the file again");
        }
      }
      if (source_.bytes_read() == std::ssize(held_) && !is_gzip(held_))
        throw InputError(source_.path() +
                         ": found no gzip data, expected it because of the file's name; rename the file, or "
                         "fetch it again");
      // A gzip file may consist of several members.
      if (member_ended_) inflater_.reset();
      const Inflater::Step step = inflater_.run(held_, {data + filled, bytes - filled});
      if (step.damage != nullptr)
        throw InputError(fmt::format(
            "{}: damaged gzip data near byte {} ({}); fetch the file again", source_.path(),
            source_.bytes_read() - std::ssize(held_) + static_cast<int64_t>(step.taken), step.damage));
      held_ = held_.subspan(step.taken);
      filled += step.given;
      member_ended_ = step.ended;
    }
    return filled;
  }
  int64_t bytes_read() const override { return source_.bytes_read(); }
  std::string source_hash() const override { return source_.hash(); }
  bool is_cut_off() const override { return cut_off_; }

 private:
  SourceReader source_;
  Vector<char, Tag::ingest> in_;
  std::span<const char> held_;  // The part of the input that has not been inflated yet.
  Inflater inflater_{Inflater::Wrapper::gzip};
  bool member_ended_ = false;
  AtCut at_cut_;
  bool cut_off_ = false;
};

}  // namespace

std::unique_ptr<InputStream> open_gzip(const std::filesystem::path& path, AtCut at_cut) {
  return std::make_unique<GzipStream>(path, at_cut);
}

}  // namespace plimsoll
