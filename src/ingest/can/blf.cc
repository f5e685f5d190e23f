#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "base/error.h"
#include "ingest/can/byte_window.h"
#include "ingest/can/frame_reader.h"
#include "io/inflater.h"
#include "io/whole_deflate.h"

// Vector's Binary Logging Format: a header, then objects, most of them containers of zlib data that hold the
// objects of interest one after the other, across their ends. Sizes and the meaning of fields are those of
// python-can's can/io/blf.py (LGPL-3.0), of Technica's vector_blf (GPL-3.0), and, for headers of version 3
// and channels of CAN XL, of Wireshark's wiretap/blf.h (GPL-2.0).

namespace plimsoll {
namespace {

constexpr size_t kFileHeader = 144;
constexpr size_t kObjectHeader = 16;     // signature, header size, header version, object size, object type
constexpr size_t kContainerHeader = 16;  // after it: method, size
constexpr size_t kWindow = 256 << 10;    // of bytes seen at once
constexpr int64_t kMostTime = 9'000'000'000'000'000'000;  // in the year 2255
constexpr int kMostStrange = 8;                           // bytes between objects that are no zeros
constexpr size_t kMostObject = 512;                       // bytes of an object of CAN that are looked at

enum BlfType : uint32_t {
  kCanMessage = 1,
  kCanErrorFrame = 2,
  kContainer = 10,
  kCanErrorExt = 73,
  kCanMessage2 = 86,
  kCanFdMessage = 100,
  kCanFdMessage64 = 101,
  kCanFdError64 = 104,
  kCanXlFrame = 139,  // of a channel of CAN XL: classic frames and CAN FD, too
};

// Nanoseconds since 1970 of a SYSTEMTIME, read as UTC; 0 where it is none.
int64_t system_time_ns(const uint8_t* at) {
  std::array<uint16_t, 8> parts;  // year, month, day of the week, day, hour, minute, second, millisecond
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
  return time_ns > kMostTime ? 0 : time_ns;
}

class BlfReader : public FrameReader {
 public:
  BlfReader(const std::string& file, const FormatOptions& options, std::unique_ptr<InputStream> stream)
      : stream_(std::move(stream)), taker_(options, file) {
    if (!outer_.have(kFileHeader))
      taker_.refuse(0, "a file that ends in its header", "144 bytes; fetch it again");
    const uint32_t header = load<uint32_t>(outer_.data() + 4);
    start_ns_ = system_time_ns(outer_.data() + 40);
    if (header < kFileHeader || header > 1 << 20)
      taker_.refuse(4, fmt::format("a header of {} bytes", header), "144 bytes or more");
    if (!outer_.pass(header)) taker_.refuse(0, "a file that ends in its header", "all of it; fetch it again");
  }

  bool read(size_t most, FrameBatch& out, LineNotes& notes) override {
    for (size_t object = 0; object < most; ++object)
      if (!next_object(out, notes)) return false;
    return true;
  }
  CaptureFacts facts() const override { return {.name = "blf", .labelled = false}; }
  int64_t bytes_read() const override { return stream_->bytes_read(); }
  int64_t unpacked_bytes() const override { return inner_.position(); }
  std::string source_hash() const override { return stream_->source_hash(); }

 private:
  struct Object {
    uint32_t header_size;
    uint16_t header_version;
    uint32_t size;
    uint32_t type;
  };

  static Object object_at(const uint8_t* at) {
    return {load<uint16_t>(at + 4), load<uint16_t>(at + 6), load<uint32_t>(at + 8), load<uint32_t>(at + 12)};
  }
  static bool is_object(const uint8_t* at) { return load<uint32_t>(at) == 0x4A424F4C; }  // LOBJ

  // Objects end at a multiple of 4 bytes, or not; some of Vector's tools fill up with many zeros. Passes over
  // what fills up. False at the end of the stream.
  static bool find_object(ByteWindow& window) {
    for (int strange = 0; window.have(4);) {
      if (is_object(window.data())) return true;
      strange += window.data()[0] != 0;
      if (strange > kMostStrange) return false;
      window.drop(1);
    }
    return false;
  }
  // Whether nothing follows but what fills up.
  static bool is_at_end(ByteWindow& window) {
    if (window.have(4)) return false;
    return std::all_of(window.data(), window.data() + window.held(), [](uint8_t byte) { return byte == 0; });
  }

  // ---- the file: bytes of objects, out of containers

  size_t read_inner(char* data, size_t bytes) {
    for (;;) {
      const bool inflates = deflated_ && !ended_;
      if (left_ == 0 && !inflates) {
        if (!next_container()) return 0;
        continue;
      }
      if (left_ > 0 && !outer_.have(1)) cut_off();
      const size_t held = std::min<uint64_t>(left_, outer_.held());
      const auto* const from = reinterpret_cast<const char*>(outer_.data());
      if (!deflated_) {
        const size_t count = std::min(held, bytes);
        std::copy_n(from, count, data);
        take(count);
        return count;
      }
      if (ended_) {  // what fills the container up
        take(held);
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
      if (left_ == 0 && !ended_)
        taker_.refuse(container_at_, "a container whose zlib data is cut off",
                      "all of it; fetch the file again");
    }
  }

  // A container at once, where it and what it says to unpack to have room; else 0.
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

  // False at the end of the file.
  bool next_container() {
    for (;;) {
      container_at_ = outer_.position();
      if (!find_object(outer_)) {
        if (is_at_end(outer_)) return false;
        taker_.refuse(outer_.position(), "something else", "an object, which starts with LOBJ");
      }
      container_at_ = outer_.position();
      if (!outer_.have(kObjectHeader)) cut_off();
      const Object object = object_at(outer_.data());
      if (object.size < kObjectHeader) refuse_size(outer_.position(), object);
      if (object.type != kContainer) {  // an object of its own: the bytes of it
        left_ = object.size;
        deflated_ = false;
        return true;
      }
      if (object.size < kObjectHeader + kContainerHeader) refuse_size(outer_.position(), object);
      if (!outer_.have(kObjectHeader + kContainerHeader)) cut_off();
      const uint16_t method = load<uint16_t>(outer_.data() + kObjectHeader);
      if (method != 0 && method != 2)
        taker_.refuse(outer_.position(), fmt::format("a container packed by method {}", method),
                      "0 (not at all) or 2 (zlib)");
      unpacked_ = load<uint32_t>(outer_.data() + kObjectHeader + 8);
      outer_.drop(kObjectHeader + kContainerHeader);
      left_ = object.size - kObjectHeader - kContainerHeader;
      deflated_ = method == 2;
      ended_ = false;
      if (deflated_) inflater_.reset();
      if (left_ > 0) return true;
    }
  }

  [[noreturn]] void cut_off() const {
    taker_.refuse(container_at_, "an object that the file ends in", "all of it; fetch the file again");
  }
  [[noreturn]] void refuse_size(int64_t position, const Object& object) const {
    taker_.refuse(position, fmt::format("an object of type {} of {} bytes", object.type, object.size),
                  "a longer one; the file is damaged");
  }

  // ---- the objects

  bool next_object(FrameBatch& out, LineNotes& notes) {
    if (!find_object(inner_)) {
      if (is_at_end(inner_)) return false;
      refuse_here("something else", "an object, which starts with LOBJ");
    }
    if (!inner_.have(kObjectHeader))
      refuse_here("an object that the file ends in", "all of it; fetch the file again");
    const Object object = object_at(inner_.data());
    if (object.size < kObjectHeader) refuse_size(container_at_, object);
    const size_t looked_at = std::min<size_t>(object.size, kMostObject);
    if (!inner_.have(looked_at))
      refuse_here("an object that the file ends in", "all of it; fetch the file again");
    add_frame(object, looked_at, out, notes);
    if (!inner_.pass(object.size))
      refuse_here("an object that the file ends in", "all of it; fetch the file again");
    return true;
  }

  // Bytes within containers are told by the container, which can be found in the file.
  [[noreturn]] void refuse_here(const std::string& found, const std::string& expected) const {
    taker_.refuse(container_at_, found + " in the container there", expected);
  }

  void add_frame(const Object& object, size_t held, FrameBatch& out, LineNotes& notes) {
    const size_t least = size_of(object.type);
    if (least == 0) return;
    if (object.header_version < 1 || object.header_version > 3)
      refuse_here(fmt::format("an object header of version {}", object.header_version), "1, 2 or 3");
    const size_t head = std::max<size_t>(object.header_size, object.header_version == 2 ? 40 : 32);
    if (held < head + least) refuse_size(container_at_, object);
    const uint8_t* const at = inner_.data();
    if (is_request(object.type, at + head)) return;
    const uint32_t flags = load<uint32_t>(at + 16);
    const uint64_t ticks = load<uint64_t>(at + 24);
    const uint64_t scale = (flags & 0xF) == 1 ? 10'000 : 1;
    if (ticks > static_cast<uint64_t>(kMostTime) / scale - static_cast<uint64_t>(start_ns_) / scale)
      refuse_here("a time past the year 2255", "an earlier one");
    RawFrame frame{start_ns_ + static_cast<int64_t>(ticks * scale), 0, 0, at, 0};
    fill(object, at + head, held - head, frame);
    taker_.add(frame, container_at_, out, notes);
  }

  // Bytes that are looked at beside a payload of variable length; 0 for what is no frame.
  static size_t size_of(uint32_t type) {
    switch (type) {
      case kCanMessage:
      case kCanMessage2:
        return 16;
      case kCanErrorFrame:
        return 4;
      case kCanErrorExt:
        return 24;
      case kCanFdMessage:
        return 20;
      case kCanFdMessage64:
        return 40;
      case kCanFdError64:
        return 16;
      case kCanXlFrame:
        return 104;
      default:
        return 0;
    }
  }

  static uint32_t id_of(uint32_t id, bool remote) {
    return (id & 0x1FFFFFFF) | ((id & kCanExtended) != 0 || (id & 0x1FFFFFFF) > 0x7FF ? kCanExtended : 0) |
           (remote ? kCanRemote : 0);
  }

  // A frame that is to be sent, not one that was on the bus; the frame itself follows.
  static bool is_request(uint32_t type, const uint8_t* at) {
    return (type == kCanFdMessage64 && at[34] == 2) || (type == kCanXlFrame && at[2] == 2);
  }

  static uint8_t sent_if(bool sent) { return sent ? kFrameSent : 0; }
  // Bits of Vector: 1 CAN FD, 2 bit rate switched, 4 error passive.
  static uint8_t fd_flags(uint32_t bits) {
    return static_cast<uint8_t>(((bits & 1) != 0 ? kFrameFd : 0) | ((bits & 2) != 0 ? kFrameBrs : 0) |
                                ((bits & 4) != 0 ? kFrameEsi : 0));
  }

  // `held` bytes of the object are at `at`, at least size_of().
  void fill(const Object& object, const uint8_t* at, size_t held, RawFrame& frame) {
    bool remote = false;
    size_t data = 8;  // where the payload is
    switch (object.type) {
      case kCanMessage:
      case kCanMessage2:
        remote = (at[2] & 0x80) != 0;
        frame.flags = sent_if(at[2] & 1);
        frame.channel = load<uint16_t>(at);
        frame.can_id = id_of(load<uint32_t>(at + 4), remote);
        frame.length = std::min<size_t>(at[3], 8);
        break;
      case kCanFdMessage:
        remote = (at[2] & 0x80) != 0;
        frame.flags = sent_if(at[2] & 1) | fd_flags(at[13]);
        frame.channel = load<uint16_t>(at);
        frame.can_id = id_of(load<uint32_t>(at + 4), remote);
        frame.length = std::min<size_t>({at[14], 64, held - 20});
        data = 20;
        break;
      case kCanFdMessage64: {
        remote = (load<uint32_t>(at + 12) & 0x10) != 0;
        frame.flags = sent_if(at[34] != 0) | fd_flags(load<uint32_t>(at + 12) >> 12);
        frame.channel = at[0];
        frame.can_id = id_of(load<uint32_t>(at + 4), remote);
        // A payload may be told to be longer than it is: zeros follow, as in Vector's own library.
        frame.length = std::min<size_t>(at[2], 64);
        const size_t end = at[35] != 0 ? at[35] : object.size;
        const size_t before = object.header_size + size_t{40};
        const size_t there = std::min({frame.length, held - 40, end > before ? end - before : 0});
        padded_.fill(0);
        std::copy_n(at + 40, there, padded_.begin());
        frame.data = padded_.data();
        frame.length = remote ? 0 : frame.length;
        return;
      }
      case kCanXlFrame: {
        const auto flags = load<uint32_t>(at + 48);
        if ((flags & 0x400000) != 0) refuse_here("a frame of CAN XL", "CAN or CAN FD");
        remote = (flags & 0x10) != 0;
        frame.flags = sent_if(at[2] != 0) | fd_flags(flags >> 12);
        frame.channel = at[0];
        frame.can_id = id_of(load<uint32_t>(at + 12), remote);
        frame.length = std::min<size_t>({load<uint16_t>(at + 20), 64, held - 104});
        data = 104;
        break;
      }
      default:  // an error frame
        frame.channel = object.type == kCanFdError64 ? at[0] : load<uint16_t>(at);
        frame.can_id = kCanError;
        if (object.type == kCanErrorExt) {
          frame.can_id |= load<uint32_t>(at + 16) & 0x1FFFFFFF;
          frame.length = std::min<size_t>({at[10], 8, held - 24});
          data = 24;
        }
    }
    if (remote) frame.length = 0;
    frame.data = at + data;
  }

  std::unique_ptr<InputStream> stream_;
  FrameTaker taker_;
  ByteWindow outer_{kWindow, [this](char* data, size_t bytes) { return stream_->read(data, bytes); }};
  ByteWindow inner_{kWindow, [this](char* data, size_t bytes) { return read_inner(data, bytes); }};
  WholeInflater whole_;
  Inflater inflater_{Inflater::Wrapper::zlib};
  std::array<uint8_t, 64> padded_{};
  int64_t start_ns_ = 0;
  int64_t container_at_ = 0;
  uint64_t left_ = 0;      // bytes of the container
  size_t unpacked_ = 0;    // that it says to unpack to; 0 once that was tried
  bool deflated_ = false;  // the container
  bool ended_ = false;     // its zlib data
};

}  // namespace

std::unique_ptr<FrameReader> open_blf(const std::string& file, const FormatOptions& options,
                                      std::unique_ptr<InputStream> stream) {
  return std::make_unique<BlfReader>(file, options, std::move(stream));
}

}  // namespace plimsoll
