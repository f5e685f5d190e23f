#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/can.h>
#include <linux/can/raw.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "base/error.h"
#include "can/capture/fields.h"
#include "can/frames/frame_batch.h"
#include "can/live/frame_feed.h"
#include "can/live/wait_for_input.h"

namespace plimsoll {
namespace {

constexpr size_t kFrames = 64;          // Maximum frames read from the socket at once.
using Control = std::array<char, 128>;  // The kernel's control data of a frame: time, dropped frames.
// Requested size of the kernel's buffer: a few thousand frames, about a second of a busy bus.
constexpr int kKernelBytes = 4 << 20;

// A raw CAN socket on one interface, or on all interfaces if several are requested; frames of other
// interfaces are skipped. The destructor closes it.
class CanSocket {
 public:
  explicit CanSocket(const std::vector<std::string>& interfaces)
      : name_(fmt::format("{}", fmt::join(interfaces, ", "))) {
    if (interfaces.size() > kMaxChannels)
      throw UsageError(
          fmt::format("found {} network interfaces, expected at most {}", interfaces.size(), kMaxChannels));
    descriptor_ = ::socket(PF_CAN, SOCK_RAW | SOCK_CLOEXEC, CAN_RAW);
    if (descriptor_ < 0)
      throw failure(
          errno == EAFNOSUPPORT
              ? "this system has no SocketCAN; load it (modprobe can can-raw), or give a capture or -"
              : "cannot open a CAN socket");
    set(SOL_CAN_RAW, CAN_RAW_FD_FRAMES, /*required=*/false);
    set(SOL_SOCKET, SO_TIMESTAMPNS, true);
    set(SOL_SOCKET, SO_RXQ_OVFL, true);
    // Only root may exceed the system's limit; a smaller buffer is enough if frames are read in time.
    if (::setsockopt(descriptor_, SOL_SOCKET, SO_RCVBUFFORCE, &kKernelBytes, sizeof(kKernelBytes)) != 0)
      ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVBUF, &kKernelBytes, sizeof(kKernelBytes));
    sockaddr_can address{};
    address.can_family = AF_CAN;
    for (const std::string& interface : interfaces) {
      const auto index = static_cast<int>(::if_nametoindex(interface.c_str()));
      if (index == 0) fail("no such network interface; `ip link` lists them");
      interfaces_[index] = interface;
    }
    address.can_ifindex = interfaces_.size() == 1 ? interfaces_.begin()->first : 0;
    if (::bind(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
      fail("cannot be read; bring it up (ip link set it up)");
  }
  CanSocket(const CanSocket&) = delete;
  CanSocket& operator=(const CanSocket&) = delete;
  ~CanSocket() { ::close(descriptor_); }

  int descriptor() const { return descriptor_; }
  /// The name of an interface; null if it was not requested.
  const std::string* interface(int index) const {
    const auto found = interfaces_.find(index);
    return found == interfaces_.end() ? nullptr : &found->second;
  }
  Failure failure(const std::string& what) const {
    return Failure(fmt::format("{}: {} ({})", name_, what, std::strerror(errno)));
  }

 private:
  [[noreturn]] void fail(const char* what) {
    const Failure reason = failure(what);
    ::close(descriptor_);
    throw reason;
  }
  void set(int level, int option, bool required) {
    const int on = 1;
    if (::setsockopt(descriptor_, level, option, &on, sizeof(on)) != 0 && required)
      fail("the kernel does not provide the times of frames");
  }

  std::string name_;
  std::map<int, std::string> interfaces_;  // Names by index of the interface.
  int descriptor_ = -1;
};

class CanFeed : public FrameFeed {
 public:
  CanFeed(const std::vector<std::string>& interfaces, const FeedOptions& options)
      : socket_(interfaces),
        width_(options.format.payload),
        strict_(options.strict),
        stop_(options.stop),
        tick_ns_(options.tick_ns) {
    for (size_t i = 0; i < kFrames; ++i) {
      buffers_[i] = {&frames_[i], sizeof(frames_[i])};
      messages_[i].msg_hdr = {};
      messages_[i].msg_hdr.msg_iov = &buffers_[i];
      messages_[i].msg_hdr.msg_iovlen = 1;
      messages_[i].msg_hdr.msg_name = &senders_[i];
    }
  }

  bool read(FrameBatch& batch) override {
    batch.width = width_;
    batch.clear();
    while (batch.frames() == 0) {
      const Waited waited = wait_for_input(socket_.descriptor(), stop_, tick_ns_);
      if (waited != Waited::input) return waited == Waited::timed_out;
      for (size_t i = 0; i < kFrames; ++i) {
        messages_[i].msg_hdr.msg_control = controls_[i].data();
        messages_[i].msg_hdr.msg_controllen = controls_[i].size();
        messages_[i].msg_hdr.msg_namelen = sizeof(sockaddr_can);
      }
      const int got = ::recvmmsg(socket_.descriptor(), messages_.data(), kFrames, MSG_DONTWAIT, nullptr);
      if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (got < 0) throw socket_.failure("cannot be read any more");
      arrived_ = std::chrono::steady_clock::now();
      for (size_t i = 0; i < static_cast<size_t>(got); ++i) take(i, batch);
    }
    return true;
  }

  std::chrono::steady_clock::time_point arrived() const override { return arrived_; }
  StreamFacts facts() const override { return {true, true, width_}; }
  const FeedLosses& losses() const override { return losses_; }

 private:
  void take(size_t i, FrameBatch& batch) {
    const int64_t time_ns = read_controls(messages_[i].msg_hdr);
    const canfd_frame& frame = frames_[i];
    const std::string* const interface = socket_.interface(senders_[i].can_ifindex);
    if (interface == nullptr) return;
    const bool remote = messages_[i].msg_len == CAN_MTU && (frame.can_id & CAN_RTR_FLAG) != 0;
    const int64_t length = remote ? 0 : frame.len;
    if (length > width_) {
      const std::string expected = fmt::format("a payload of at most {} bytes", width_);
      if (strict_)
        throw InputError(fmt::format("frame {:X}: found {} bytes, expected {}; give --payload 64",
                                     frame.can_id & CAN_EFF_MASK, length, expected));
      ++losses_.lines;
      ++losses_.expected[expected];
      return;
    }
    batch.time_ns.push_back(time_ns);
    batch.can_id.push_back(frame.can_id);  // The flags of can_id are the same as SocketCAN's.
    batch.label.push_back(kUnlabelled);
    append_bytes(frame.data, length, batch);
    batch.set_channel(*interface);
  }

  // Reads the kernel's time of a frame, and counts the frames that the kernel dropped before it.
  int64_t read_controls(msghdr& header) {
    int64_t time_ns = 0;
    for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c)) {
      if (c->cmsg_level != SOL_SOCKET) continue;
      if (c->cmsg_type == SO_TIMESTAMPNS) {
        timespec time{};
        std::memcpy(&time, CMSG_DATA(c), sizeof(time));
        time_ns = int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
      } else if (c->cmsg_type == SO_RXQ_OVFL) {
        uint32_t dropped = 0;  // The number of frames dropped since the socket was opened.
        std::memcpy(&dropped, CMSG_DATA(c), sizeof(dropped));
        losses_.frames = std::max<int64_t>(losses_.frames, dropped);
      }
    }
    return time_ns;
  }

  CanSocket socket_;
  int64_t width_;
  bool strict_;
  const std::atomic<bool>* stop_;
  int64_t tick_ns_;
  FeedLosses losses_;
  std::chrono::steady_clock::time_point arrived_;
  Vector<canfd_frame, Tag::ingest> frames_ = Vector<canfd_frame, Tag::ingest>(kFrames, canfd_frame{});
  std::array<iovec, kFrames> buffers_{};
  std::array<sockaddr_can, kFrames> senders_{};
  std::array<mmsghdr, kFrames> messages_{};
  Vector<Control, Tag::ingest> controls_ = Vector<Control, Tag::ingest>(kFrames, Control{});
};

}  // namespace

std::unique_ptr<FrameFeed> open_can_feed(const std::vector<std::string>& interfaces,
                                         const FeedOptions& options) {
  if (options.format.payload != 8 && options.format.payload != 64)
    throw UsageError(fmt::format("a payload of {} bytes is neither 8 nor 64", options.format.payload));
  return std::make_unique<CanFeed>(interfaces, options);
}

bool is_interface(const std::string& name) {
  return name.size() < IF_NAMESIZE && ::if_nametoindex(name.c_str()) != 0;
}

}  // namespace plimsoll
