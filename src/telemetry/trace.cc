#include "telemetry/trace.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/json.h"

namespace plimsoll {
namespace {

constexpr size_t kLongestEvent = 1024;

// From 1 on: thread 0 is the idle one.
int thread_of(int track) {
  return track - SpanSink::kRun + 1;
}

double microseconds(SpanSink::Clock::time_point at) {
  return std::chrono::duration<double, std::micro>(at.time_since_epoch()).count();
}

}  // namespace

Trace::Trace() {
  buffer_.reserve(static_cast<size_t>(kBufferBytes));
}

void Trace::open(const std::filesystem::path& path, const std::string& title, int workers) {
  const std::lock_guard lock(mutex_);
  file_ = File::create(path);
  buffer_ = "[\n";
  held_ = {};
  put(buffer_,
      R"({{"ph":"M","pid":1,"name":"process_name","args":{{"name":{}}}}})"
      ",\n",
      Json(title).dump(-1, ' ', false, Json::error_handler_t::replace));
  name_track(kRun, "run", 0);
  name_track(kReader, "reader", workers + 1);
  for (int worker = 0; worker < workers; ++worker)
    name_track(worker, fmt::format("worker {}", worker), worker + 1);
  put_counters(Clock::now());
  write_buffer();
}

void Trace::name_track(int track, const std::string& name, int place) {
  put(buffer_,
      R"({{"ph":"M","pid":1,"tid":{},"name":"thread_name","args":{{"name":"{}"}}}})"
      ",\n",
      thread_of(track), name);
  put(buffer_,
      R"({{"ph":"M","pid":1,"tid":{},"name":"thread_sort_index","args":{{"sort_index":{}}}}})"
      ",\n",
      thread_of(track), place);
}

void Trace::span(int track, const char* name, Clock::time_point begin, Clock::time_point end,
                 const Size& size) {
  const std::lock_guard lock(mutex_);
  if (!file_) return;
  const double start = microseconds(begin);
  put(buffer_, R"({{"ph":"X","pid":1,"tid":{},"ts":{:.3f},"dur":{:.3f},"name":"{:.200}")", thread_of(track),
      start, microseconds(end) - start, name);
  if (size.graphs > 0)
    put(buffer_, R"(,"args":{{"graphs":{},"nodes":{},"edges":{}}})", size.graphs, size.nodes, size.edges);
  buffer_ += "},\n";
  put_counters(end);
  if (buffer_.size() + kLongestEvent > static_cast<size_t>(kBufferBytes)) write_buffer();
}

// One track a tag, where it has changed.
void Trace::put_counters(Clock::time_point at) {
  for (int t = 0; t < kTags; ++t) {
    const auto tag = static_cast<Tag>(t);
    const int64_t bytes = Ledger::process().held(tag);
    if (bytes == held_[static_cast<size_t>(t)]) continue;
    held_[static_cast<size_t>(t)] = bytes;
    put(buffer_,
        R"({{"ph":"C","pid":1,"ts":{:.3f},"name":"memory: {}","args":{{"bytes":{}}}}})"
        ",\n",
        microseconds(at), tag_name(tag), bytes);
  }
}

void Trace::write_buffer() {
  try {
    file_->write(buffer_.data(), buffer_.size());
  } catch (const Failure& error) {
    fmt::print(stderr, "plimsoll: the trace ends early: {}\n", error.what());
    file_.reset();
  }
  buffer_.clear();
}

void Trace::flush() {
  const std::lock_guard lock(mutex_);
  if (file_) write_buffer();
}

void Trace::close() {
  const std::lock_guard lock(mutex_);
  if (!file_) return;
  // An event that says nothing ends the list without a comma.
  buffer_ += "{\"ph\":\"M\",\"pid\":1,\"name\":\"process_labels\",\"args\":{\"labels\":\"complete\"}}\n]\n";
  write_buffer();
  file_.reset();
}

}  // namespace plimsoll
