#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "base/error.h"
#include "can/capture/blf_frame.h"
#include "can/capture/byte_window.h"
#include "can/capture/frame_reader.h"
#include "io/inflater.h"
#include "io/whole_deflate.h"

// Reads Vector's Binary Logging Format: a header and objects. Most objects are containers of zlib data that
// hold the objects of interest in sequence; an object may cross the ends of containers.

namespace plimsoll {
namespace {

constexpr size_t kFileHeader = 144;
constexpr size_t kContainerHeader = 16;                     // Method and size, after the object header.
constexpr size_t kWindow = 256 << 10;                       // Bytes held at a time.
constexpr int64_t kMaxBlfTime = 9'000'000'000'000'000'000;  // A time in the year 2255.
constexpr int kMaxStrange = 8;                              // Maximum nonzero bytes between objects.
constexpr int kMaxPadding = 3;   // Maximum bytes between objects that count only as padding.
constexpr size_t kChecksum = 4;  // Bytes at the end of zlib data.

// Nanoseconds since 1970 of a SYSTEMTIME, read as UTC; 0 if it is not a valid time.
int64_t system_time_ns(const uint8_t* at) {
  std::array<uint16_t, 8> parts;  // Year, month, day of the week, day, hour, minute, second, millisecond.
  for (size_t i = 0; i < parts.size(); ++i) parts[i] = load<uint16_t>(at + 2 * i);
  const auto [year, month, weekday, day, hour, minute, second, milliseconds] = parts;
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month),
                                         std::chrono::day(day)};
  if (!date.ok() || year < 1970 || year > 2255 || hour > 23 || minute > 59 || second > 59 ||
      milliseconds > 999)
    return 0;
  const int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  const int64_t time_ns =
      (((days * 24 + hour) * 60 + minute) * 60 + second) * 1'000'000'000 + milliseconds * 1'000'000LL;
  return time_ns > kMaxBlfTime ? 0 : time_ns;
}

class BlfReader : public FrameReader {
 public:
  BlfReader(const std::string& file, const FormatOptions& options, std::unique_ptr<InputStream> stream)
      : stream_(std::move(stream)), taker_(options, file) {
    if (!outer_.have(kFileHeader)) {
      cut_off(0);
      return;
    }
    const uint32_t header = load<uint32_t>(outer_.data() + 4);
    start_ns_ = system_time_ns(outer_.data() + 40);
    if (header < kFileHeader || header > 1 << 20)
      taker_.refuse(4, fmt::format("a header of {} bytes", header), "144 bytes or more");
    if (!outer_.pass(header)) cut_off(0);
  }

  bool read(size_t max, FrameBatch& out, LineNotes& notes) override {
    bool more = true;
    for (size_t object = 0; more && object < max; ++object) more = next_object(out, notes);
    notes.stray_bytes += std::exchange(stray_, 0);
    return more;
  }
  CaptureFacts facts() const override { return {.name = "blf", .labelled = false}; }
  int64_t bytes_read() const override { return stream_->bytes_read(); }
  int64_t unpacked_bytes() const override { return inner_.position(); }
  std::string source_hash() const override { return stream_->source_hash(); }

 private:
  // Skips padding before the next object, and counts bytes beyond padding. Objects need not end at a multiple
  // of 4 bytes, and some of Vector's tools pad with many zeros. Returns false if no object follows.
  bool find_object(ByteWindow& window) {
    int passed = 0;
    int strange = 0;
    bool found = false;
    while (window.have(4)) {
      found = is_blf_object(window.data());
      if (found) break;
      strange += window.data()[0] != 0;
      if (strange > kMaxStrange) break;
      window.drop(1);
      ++passed;
    }
    if (passed > kMaxPadding || strange > 0) stray_ += passed;
    return found;
  }
  // Whether only padding follows in a window in which have(4) is false.
  static bool is_at_end(const ByteWindow& window) {
    return std::all_of(window.data(), window.data() + window.held(), [](uint8_t byte) { return byte == 0; });
  }

  // Reads the bytes of objects from containers.

  size_t read_inner(char* data, size_t bytes) {
    for (;;) {
      if (truncation_) return 0;
      if (left_ == 0 && (!deflated_ || ended_)) {
        stray_ += static_cast<int64_t>(zeros_);
        outer_.pass(std::exchange(zeros_, 0));
        if (!next_container()) return 0;
        continue;
      }
      const bool ends = left_ > 0 && !outer_.have(1);  // The file ends within the container.
      if (ends && (!deflated_ || ended_)) return cut_off(container_at_), 0;
      const size_t held = ends ? 0 : std::min<uint64_t>(left_, outer_.held());
      const auto* const from = reinterpret_cast<const char*>(outer_.data());
      if (!deflated_) {
        const size_t count = std::min(held, bytes);
        std::copy_n(from, count, data);
        take(count);
        return count;
      }
      if (ended_) {
        pass_filler(held);
        continue;
      }
      if (const size_t given = inflate_whole(data, bytes); given > 0) return given;
      const Inflater::Step step = inflater_.run({from, held}, {data, bytes});
      if (step.damage != nullptr)
        taker_.refuse(outer_.position(), fmt::format("damaged zlib data ({})", step.damage),
                      "a container; fetch the file again");
      take(step.taken);
      ended_ = step.ended;
      if (step.given > 0) return step.given;
      if (ended_ || (left_ > 0 && !ends)) continue;
      if (!ends && (zeros_ == 0 || !outer_.pass_zeros()))
        taker_.refuse(container_at_, "a container whose zlib data is cut off",
                      "all of it; fetch the file again");
      return cut_off(container_at_), 0;
    }
  }

  // Unpacks a whole container at once if its packed and unpacked bytes fit. Returns 0 otherwise.
  size_t inflate_whole(char* data, size_t bytes) {
    const size_t unpacked = std::exchange(unpacked_, 0);
    if (unpacked == 0 || unpacked > bytes || left_ > kWindow || !outer_.have(left_)) return 0;
    if (!whole_.run({reinterpret_cast<const char*>(outer_.data()), left_}, {data, unpacked})) return 0;
    take(left_);
    ended_ = true;
    return unpacked;
  }

  void take(size_t bytes) {
    outer_.drop(bytes);
    left_ -= bytes;
  }

  // Skips the padding of a container after its zlib data.
  void pass_filler(size_t bytes) {
    const auto* const from = reinterpret_cast<const char*>(outer_.data());
    if (std::string_view(from, bytes).find("LOBJ") != std::string_view::npos)
      taker_.refuse(container_at_, "objects after the zlib data of a container", "none; the file is damaged");
    stray_ += static_cast<int64_t>(bytes);
    take(bytes);
  }

  // Opens the next container. Returns false at the end of the file.
  bool next_container() {
    for (;;) {
      const bool found = find_object(outer_);
      container_at_ = outer_.position();
      if (!found) {
        if (outer_.have(4))
          taker_.refuse(container_at_, "something else", "an object, which starts with LOBJ");
        if (!is_at_end(outer_) || stream_->is_cut_off()) cut_off(container_at_);
        return false;
      }
      if (!outer_.have(kBlfObjectHeader)) return cut_off(container_at_), false;
      const BlfObject object = blf_object(outer_.data());
      if (object.size < kBlfObjectHeader) refuse_size(container_at_, object);
      if (object.type != kBlfContainer) {  // An object outside of containers is read directly.
        if (holds_zlib(object))
          taker_.refuse(container_at_, fmt::format("a container whose type is {}", object.type),
                        fmt::format("{}; the file is damaged", kBlfContainer));
        left_ = object.size;
        deflated_ = false;
        return true;
      }
      if (object.size < kBlfObjectHeader + kContainerHeader) refuse_size(container_at_, object);
      if (!outer_.have(kBlfObjectHeader + kContainerHeader)) return cut_off(container_at_), false;
      const uint16_t method = load<uint16_t>(outer_.data() + kBlfObjectHeader);
      if (method != 0 && method != 2)
        taker_.refuse(container_at_, fmt::format("a container packed by method {}", method),
                      "0 (not at all) or 2 (zlib)");
      unpacked_ = load<uint32_t>(outer_.data() + kBlfObjectHeader + 8);
      outer_.drop(kBlfObjectHeader + kContainerHeader);
      left_ = object.size - kBlfObjectHeader - kContainerHeader;
      deflated_ = method == 2;
      ended_ = false;
      if (deflated_) open_zlib();
      if (left_ > 0) return true;
    }
  }

  // Whether an object of another type looks like a container after its header: method 2, a size and zlib
  // data.
  bool holds_zlib(const BlfObject& object) {
    constexpr size_t kZlib = kBlfObjectHeader + kContainerHeader;
    if (object.header_size != kBlfObjectHeader || object.size < kZlib + 2 || !outer_.have(kZlib + 2))
      return false;
    const uint8_t* const at = outer_.data();
    return load<uint16_t>(at + kBlfObjectHeader) == 2 && at[kZlib] == 0x78 &&
           (at[kZlib] << 8 | at[kZlib + 1]) % 31 == 0;
  }

  // After a power failure, a file system may have zeros in place of the end of a file. The zeros are not zlib
  // data; if they were inflated, they might become frames.
  void open_zlib() {
    inflater_.reset();
    outer_.have(std::min<uint64_t>(left_, kWindow));
    const size_t held = std::min<uint64_t>(left_, outer_.held());
    if (held < left_ && held == kWindow) return;  // The end of a large container is not in the window yet.
    const uint8_t* const begin = outer_.data();
    size_t end = held;
    while (end > 0 && begin[end - 1] == 0) --end;
    if (held - end < kMaxPadding + kChecksum) return;
    zeros_ = held - end;
    left_ = end;
  }

  void cut_off(int64_t position) {
    taker_.allow_cut(position);
    truncation_ = {position, static_cast<int64_t>(outer_.held())};
    outer_.drop(outer_.held());
    left_ = 0;
  }
  [[noreturn]] void refuse_size(int64_t position, const BlfObject& object) const {
    taker_.refuse(position, fmt::format("an object of type {} of {} bytes", object.type, object.size),
                  "a longer one; the file is damaged");
  }

  // Reads objects.

  bool next_object(FrameBatch& out, LineNotes& notes) {
    if (!find_object(inner_)) {
      if (inner_.have(4)) refuse_here("something else", "an object, which starts with LOBJ");
      return is_at_end(inner_) ? false : end_within_object(inner_.position());
    }
    const int64_t begin = inner_.position();
    if (!inner_.have(kBlfObjectHeader)) return end_within_object(begin);
    const BlfObject object = blf_object(inner_.data());
    if (object.size < kBlfObjectHeader) refuse_size(container_at_, object);
    if (object.type == kBlfContainer) refuse_here("another container", "objects; the file is damaged");
    const bool is_frame = blf_frame_bytes(object.type) > 0;
    if (is_frame && object.size > kMaxBlfFrame)
      refuse_here(fmt::format("an object of type {} of {} bytes", object.type, object.size),
                  fmt::format("at most {}; the file is damaged", kMaxBlfFrame));
    size_t known = kBlfObjectHeader;
    if (is_frame) {
      if (!inner_.have(object.size)) {
        if (holds_frame(kBlfObjectHeader, inner_.held())) refuse_swallowed(object);
        return end_within_object(begin);
      }
      known = add_frame(object, object.size, out, notes);
    } else {
      ++notes.other_records;
    }
    inner_.drop(known);
    return pass_rest(object, object.size - known) || end_within_object(begin);
  }

  // Skips the rest of an object. If a frame starts in there, the size of the object is wrong.
  bool pass_rest(const BlfObject& object, uint64_t left) {
    while (left >= kBlfObjectHeader) {
      if (!inner_.have(kBlfObjectHeader)) return inner_.drop(inner_.held()), false;
      const size_t held = std::min<uint64_t>(left, inner_.held());
      if (holds_frame(0, held)) refuse_swallowed(object);
      const size_t step = held < left ? held - (kBlfObjectHeader - 1) : held;  // A header may cross the end.
      inner_.drop(step);
      left -= step;
    }
    return inner_.pass(left);
  }

  bool holds_frame(size_t from, size_t end) const {
    std::string_view bytes(reinterpret_cast<const char*>(inner_.data()), end);
    for (size_t at = bytes.find("LOBJ", from); at != std::string_view::npos; at = bytes.find("LOBJ", at + 1))
      if (at + kBlfObjectHeader <= end && is_blf_frame(inner_.data() + at)) return true;
    return false;
  }
  [[noreturn]] void refuse_swallowed(const BlfObject& object) const {
    refuse_here(
        fmt::format("an object of type {} of {} bytes with other objects in it", object.type, object.size),
        "a shorter one; the file is damaged");
  }

  // Handles a file that ends within the object at `begin` of the unpacked bytes. Returns false.
  bool end_within_object(int64_t begin) {
    if (!truncation_) cut_off(container_at_);
    truncation_->left_out += inner_.position() + static_cast<int64_t>(inner_.held()) - begin;
    inner_.drop(inner_.held());
    return false;
  }

  // Reports an error by the position of the container, which can be found in the file.
  [[noreturn]] void refuse_here(const std::string& found, const std::string& expected) const {
    taker_.refuse(container_at_, found + " in the container there", expected);
  }

  // Adds the frame of the object at the start of inner_. Returns the number of bytes up to the end of its
  // payload.
  size_t add_frame(const BlfObject& object, size_t held, FrameBatch& out, LineNotes& notes) {
    const size_t min = blf_frame_bytes(object.type);
    if (object.header_version < 1 || object.header_version > 3)
      refuse_here(fmt::format("an object header of version {}", object.header_version), "1, 2 or 3");
    const size_t head = std::max<size_t>(object.header_size, object.header_version == 2 ? 40 : 32);
    if (held < head + min) refuse_size(container_at_, object);
    const uint8_t* const at = inner_.data();
    if (is_blf_request(object.type, at + head)) return ++notes.other_records, head + min;
    const uint32_t flags = load<uint32_t>(at + 16);
    const uint64_t ticks = load<uint64_t>(at + 24);
    const uint64_t scale = (flags & 0xF) == 1 ? 10'000 : 1;
    if (ticks > static_cast<uint64_t>(kMaxBlfTime) / scale - static_cast<uint64_t>(start_ns_) / scale)
      refuse_here("a time past the year 2255", "an earlier one");
    RawFrame frame{start_ns_ + static_cast<int64_t>(ticks * scale), 0, 0, at, 0};
    if (is_blf_xl(object.type, at + head)) refuse_here("a frame of CAN XL", "CAN or CAN FD");
    const size_t known = fill_blf_frame(object, at + head, held - head, padded_, frame);
    taker_.add(frame, container_at_, out, notes);
    return head + known;
  }

  std::unique_ptr<InputStream> stream_;
  FrameTaker taker_;
  ByteWindow outer_{kWindow, [this](char* data, size_t bytes) { return stream_->read(data, bytes); }};
  ByteWindow inner_{kWindow, [this](char* data, size_t bytes) { return read_inner(data, bytes); }};
  WholeInflater whole_;
  Inflater inflater_{Inflater::Wrapper::zlib};
  BlfPayload padded_{};
  int64_t start_ns_ = 0;
  int64_t container_at_ = 0;
  uint64_t left_ = 0;      // Bytes left of the container.
  size_t zeros_ = 0;       // Zero bytes at the container's end that are not zlib data.
  size_t unpacked_ = 0;    // Unpacked bytes that the container declares; 0 once inflate_whole() was tried.
  bool deflated_ = false;  // The container is compressed.
  bool ended_ = false;     // The container's zlib data have ended.
  int64_t stray_ = 0;      // Skipped bytes that are not in the notes yet.
};

}  // namespace

std::unique_ptr<FrameReader> open_blf(const std::string& file, const FormatOptions& options,
                                      std::unique_ptr<InputStream> stream) {
  return std::make_unique<BlfReader>(file, options, std::move(stream));
}

}  // namespace plimsoll
