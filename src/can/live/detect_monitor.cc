#include "can/live/detect_monitor.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/error.h"
#include "base/json_text.h"
#include "base/version.h"
#include "can/live/event_sink.h"
#include "memory/ledger.h"

namespace plimsoll {
namespace {

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

struct Metric {
  const char* name;
  const char* type;
  const char* help;
  std::atomic<int64_t> DetectCounts::*value;
};
constexpr std::array<Metric, 13> kMetrics = {{
    {"plimsoll_frames_total", "counter", "Frames evaluated or waiting for their window.",
     &DetectCounts::frames},
    {"plimsoll_windows_total", "counter", "Windows evaluated.", &DetectCounts::windows},
    {"plimsoll_alarms_total", "counter", "Windows above the threshold, and silences.", &DetectCounts::alarms},
    {"plimsoll_events_total", "counter", "Events reported.", &DetectCounts::events},
    {"plimsoll_events_over_rate_total", "counter", "Events held back by the limit on their number.",
     &DetectCounts::over_rate},
    {"plimsoll_events_over_bytes_total", "counter", "Events held back by the limit on their bytes.",
     &DetectCounts::over_bytes},
    {"plimsoll_alarms_blocked_total", "counter", "Alarms dropped while the file of --event-block exists.",
     &DetectCounts::blocked},
    {"plimsoll_alarms_sampled_out_total", "counter", "Alarms dropped because only every n-th is used.",
     &DetectCounts::sampled_out},
    {"plimsoll_alarms_below_threshold_total", "counter", "Alarms of incidents with too few alarms.",
     &DetectCounts::below_threshold},
    {"plimsoll_malformed_total", "counter", "Lines or frames left out.", &DetectCounts::malformed},
    {"plimsoll_dropped_frames_total", "counter",
     "Frames that the system dropped because they were read too late.", &DetectCounts::dropped},
    {"plimsoll_reloads_total", "counter", "Detectors loaded again.", &DetectCounts::reloads},
    {"plimsoll_channels", "gauge", "Channels with frames so far.", &DetectCounts::channels},
}};

}  // namespace

Json events_json(const DetectCounts& counts) {
  return {{"told", counts.events.load()},
          {"over_rate", counts.over_rate.load()},
          {"over_bytes", counts.over_bytes.load()},
          {"alarms_blocked", counts.blocked.load()},
          {"alarms_sampled_out", counts.sampled_out.load()},
          {"alarms_below_threshold", counts.below_threshold.load()}};
}

DetectMonitor::DetectMonitor(Options options, const DetectCounts& counts)
    : options_(std::move(options)), counts_(counts) {
  if (options_.port > 0) listen();
  if (options_.port > 0 || options_.heartbeat_s > 0)
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

DetectMonitor::~DetectMonitor() {
  thread_ = std::jthread();  // Stops and joins the thread.
  if (listener_ >= 0) ::close(listener_);
}

void DetectMonitor::listen() {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int on = 1;
  ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(options_.port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (listener_ >= 0 && ::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      ::listen(listener_, 8) == 0)
    return;
  const std::string reason = std::strerror(errno);
  if (listener_ >= 0) ::close(listener_);
  throw Failure(fmt::format("--metrics {}: cannot listen on this port of 127.0.0.1 ({}); choose another",
                            options_.port, reason));
}

void DetectMonitor::run(const std::stop_token& stop) {
  using Clock = std::chrono::steady_clock;
  const auto every = std::chrono::seconds(options_.heartbeat_s);
  auto next = Clock::now() + every;
  while (!stop.stop_requested()) {
    constexpr int kLookUpMs = 100;
    pollfd caller{listener_, POLLIN, 0};
    if (::poll(&caller, listener_ >= 0 ? 1 : 0, kLookUpMs) > 0) answer();
    if (options_.heartbeat_s > 0 && Clock::now() >= next) {
      beat();
      next += every;
    }
  }
}

// Answers one request per connection, whatever the request asks for. A slow client does not block the
// monitor.
void DetectMonitor::answer() const {
  const int caller = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (caller < 0) return;
  const timeval max{1, 0};
  ::setsockopt(caller, SOL_SOCKET, SO_RCVTIMEO, &max, sizeof max);
  ::setsockopt(caller, SOL_SOCKET, SO_SNDTIMEO, &max, sizeof max);
  std::array<char, 2048> request;
  if (::recv(caller, request.data(), request.size(), 0) > 0) {
    const std::string body = page();
    const std::string reply = fmt::format(
        "HTTP/1.0 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {}\r\n"
        "Connection: close\r\n\r\n{}",
        body.size(), body);
    for (size_t sent = 0; sent < reply.size();) {
      const ssize_t step = ::send(caller, reply.data() + sent, reply.size() - sent, MSG_NOSIGNAL);
      if (step <= 0) break;
      sent += static_cast<size_t>(step);
    }
  }
  ::close(caller);
}

std::string DetectMonitor::page() const {
  std::string text;
  const auto head = [&](const char* name, const char* help, const char* type) {
    text += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
  };
  for (const Metric& metric : kMetrics) {
    head(metric.name, metric.help, metric.type);
    text += fmt::format("{} {}\n", metric.name, (counts_.*metric.value).load());
  }
  head("plimsoll_last_frame_timestamp_seconds", "Time of the last frame, on the traffic's clock.", "gauge");
  text += fmt::format("plimsoll_last_frame_timestamp_seconds {:.6f}\n",
                      static_cast<double>(counts_.last_frame_ns.load()) / 1e9);
  head("plimsoll_ledger_bytes", "Memory that the ledger holds now.", "gauge");
  text += fmt::format("plimsoll_ledger_bytes {}\n", Ledger::process().held());
  head("plimsoll_detector_info", "Hash of the detector's file.", "gauge");
  text += fmt::format("plimsoll_detector_info{{detector=\"{}\",version=\"{}\"}} 1\n", counts_.detector(),
                      kVersion);
  return text;
}

// Ignores write errors: the next event reports that standard output is gone.
void DetectMonitor::beat() const {
  Json line = {{"event", "heartbeat"},
               {"time", iso_time(now_ns())},
               {"frames", counts_.frames.load()},
               {"windows", counts_.windows.load()},
               {"alarms", counts_.alarms.load()},
               {"events", events_json(counts_)},
               {"malformed", counts_.malformed.load()},
               {"dropped_frames", counts_.dropped.load()},
               {"channels", counts_.channels.load()},
               {"last_frame_ns", counts_.last_frame_ns.load()},
               {"ledger_bytes", Ledger::process().held()},
               {"source", options_.source},
               {"detector", counts_.detector()}};
  if (!options_.vehicle.empty()) line["vehicle"] = options_.vehicle;
  try {
    print_event(json_text(line));
  } catch (const Failure&) {
    return;
  }
}

}  // namespace plimsoll
