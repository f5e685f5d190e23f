#include "telemetry/trace.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/error.h"
#include "base/json.h"
#include "base/json_text.h"
#include "base/mutex.h"

namespace plimsoll {
namespace {

constexpr size_t kLongestEvent = 2048;  // Bytes of a span plus a counter for each tag.

// Threads count from 1, because thread 0 is the idle one.
int thread_of(int track) {
  return track - SpanSink::kRun + 1;
}

// Microseconds, the unit of the format. Writing two integers takes a fifth of the time of writing a double.
struct Time {
  explicit Time(std::chrono::nanoseconds time) : whole(time.count() / 1000), rest(time.count() % 1000) {}
  explicit Time(SpanSink::Clock::time_point at) : Time(std::chrono::nanoseconds(at.time_since_epoch())) {}
  int64_t whole;
  int64_t rest;
};

// Appends a line. Lines written while steps are traced are short, so this does not allocate.
template <typename... Args>
void put_line(Markup& out, fmt::format_string<Args...> format, Args&&... args) {
  fmt::memory_buffer line;
  fmt::format_to(fmt::appender(line), format, std::forward<Args>(args)...);
  out.append(line.data(), line.size());
  out += ",\n";
}

}  // namespace

Trace::Trace() {
  buffer_.reserve(static_cast<size_t>(kBufferBytes));
}

void Trace::open(const std::filesystem::path& path, const std::string& title, int workers) {
  const MutexLock lock(mutex_);
  file_ = File::create(path);
  buffer_ = "[\n";
  held_ = {};
  put_line(buffer_, R"({{"ph":"M","pid":1,"name":"process_name","args":{{"name":{}}}}})", json_text(title));
  name_track(kRun, "run", 0);
  name_track(kReader, "reader", workers + 1);
  for (int worker = 0; worker < workers; ++worker)
    name_track(worker, fmt::format("worker {}", worker), worker + 1);
  put_counters(Clock::now());
  write_buffer();
}

void Trace::name_track(int track, const std::string& name, int place) {
  put_line(buffer_, R"({{"ph":"M","pid":1,"tid":{},"name":"thread_name","args":{{"name":"{}"}}}})",
           thread_of(track), name);
  put_line(buffer_, R"({{"ph":"M","pid":1,"tid":{},"name":"thread_sort_index","args":{{"sort_index":{}}}}})",
           thread_of(track), place);
}

void Trace::span(int track, const char* name, Clock::time_point begin, Clock::time_point end,
                 const Size& size) {
  const MutexLock lock(mutex_);
  if (!file_) return;
  const Time start(begin);
  const Time length(std::chrono::nanoseconds(end - begin));
  if (size.graphs > 0)
    put_line(buffer_,
             R"({{"ph":"X","pid":1,"tid":{},"ts":{}.{:03},"dur":{}.{:03},"name":"{:.200}",)"
             R"("args":{{"graphs":{},"nodes":{},"edges":{}}}}})",
             thread_of(track), start.whole, start.rest, length.whole, length.rest, name, size.graphs,
             size.nodes, size.edges);
  else
    put_line(buffer_, R"({{"ph":"X","pid":1,"tid":{},"ts":{}.{:03},"dur":{}.{:03},"name":"{:.200}"}})",
             thread_of(track), start.whole, start.rest, length.whole, length.rest, name);
  put_counters(end);
  if (buffer_.size() + kLongestEvent > static_cast<size_t>(kBufferBytes)) write_buffer();
}

// Writes one track per tag, for tags that have changed.
void Trace::put_counters(Clock::time_point at) {
  for (int t = 0; t < kTags; ++t) {
    const auto tag = static_cast<Tag>(t);
    const int64_t bytes = Ledger::process().held(tag);
    if (bytes == held_[static_cast<size_t>(t)]) continue;
    held_[static_cast<size_t>(t)] = bytes;
    const Time time(at);
    put_line(buffer_, R"({{"ph":"C","pid":1,"ts":{}.{:03},"name":"memory: {}","args":{{"bytes":{}}}}})",
             time.whole, time.rest, tag_name(tag), bytes);
  }
}

void Trace::write_buffer() {
  try {
    file_->write(buffer_.data(), buffer_.size());
  } catch (const Failure& error) {
    std::fprintf(stderr, "plimsoll: the trace ends early: %s\n", error.what());  // fmt::print may throw.
    file_.reset();
  }
  buffer_.clear();
}

void Trace::flush() {
  const MutexLock lock(mutex_);
  if (file_) write_buffer();
}

void Trace::close() {
  const MutexLock lock(mutex_);
  if (!file_) return;
  // An empty event ends the list without a comma.
  buffer_ += "{\"ph\":\"M\",\"pid\":1,\"name\":\"process_labels\",\"args\":{\"labels\":\"complete\"}}\n]\n";
  write_buffer();
  file_.reset();
}

}  // namespace plimsoll
