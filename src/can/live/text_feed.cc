#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "can/capture/capture_chunks.h"
#include "can/capture/fields.h"
#include "can/live/frame_feed.h"
#include "can/live/wait_for_input.h"
#include "io/compression.h"
#include "io/file_ending.h"
#include "io/input_stream.h"

namespace plimsoll {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kChunkBytes = 64 << 10;  // Maximum length of a line.
constexpr size_t kReadBytes = 4 << 10;    // Bytes read at once, about 100 frames of a file.
constexpr size_t kFirstBytes = 4096;      // Bytes within which a line must reveal the format.

// A stream of bytes that are read as they arrive.
class LiveBytes {
 public:
  LiveBytes(const std::string& source, const FeedOptions& options) : stop_(options.stop) {
    const std::filesystem::path path(source);
    if (is_standard_input(source)) {
      name_ = "standard input";
    } else if (is_compressed_name(path) && std::filesystem::is_fifo(path)) {
      throw InputError(source +
                       ": is a pipe; decompress it first, as in: zstd -dc FILE | plimsoll detect MODEL -");
    } else if (std::filesystem::is_regular_file(path) && compression_of(path) != Compression::none) {
      compressed_ = InputStream::open(path, options.format.refuse_truncated ? AtCut::fail : AtCut::stop);
    } else {
      open(source);
    }
  }
  LiveBytes(const LiveBytes&) = delete;
  LiveBytes& operator=(const LiveBytes&) = delete;
  ~LiveBytes() {
    if (descriptor_ != STDIN_FILENO) ::close(descriptor_);
  }

  // Waits for at least one byte and reads the available bytes. Returns their number; 0 at the end.
  size_t read(char* data, size_t bytes) {
    if (stop_ != nullptr && *stop_) return 0;
    if (compressed_) return compressed_->read(data, bytes);
    for (;;) {
      if (wait_for_input(descriptor_, stop_) == Waited::stopped) return 0;
      const ssize_t got = ::read(descriptor_, data, bytes);
      if (got >= 0) return static_cast<size_t>(got);
      if (errno != EAGAIN && errno != EINTR)
        throw Failure(fmt::format("{}: {}", name_, std::strerror(errno)));
    }
  }
  bool is_cut_off() const { return compressed_ && compressed_->is_cut_off(); }

 private:
  // Opens the source without waiting for the writer of a pipe; wait_for_input() waits for it.
  void open(const std::string& source) {
    name_ = source;
    descriptor_ = ::open(source.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor_ >= 0) return;
    descriptor_ = STDIN_FILENO;
    throw InputError(fmt::format("{}: {}", source, std::strerror(errno)));
  }

  const std::atomic<bool>* stop_;
  std::string name_;
  std::unique_ptr<InputStream> compressed_;
  int descriptor_ = STDIN_FILENO;
};

class TextFeed : public FrameFeed {
 public:
  TextFeed(const std::string& source, const FeedOptions& options)
      : options_(options),
        name_(is_standard_input(source) ? "standard input" : source),
        is_pipe_(is_standard_input(source) || !std::filesystem::is_regular_file(source)),
        bytes_(source, options) {
    chunk_.buffer.resize(kChunkBytes);
    chunk_.first = true;
    chunk_.may_be_cut = true;
    chunk_.refuse_cut = options.format.refuse_truncated;
    parsed_.frames.width = options.format.payload;
  }

  bool read(FrameBatch& frames) override {
    frames.width = options_.format.payload;
    frames.clear();
    while (frames.frames() == 0) {
      if (!next_lines()) return false;
      parse(frames);
    }
    return true;
  }

  Clock::time_point arrived() const override { return arrived_; }
  StreamFacts facts() const override {
    return {chunk_.format->has_time(), chunk_.format->has_payload(), options_.format.payload};
  }
  const FeedLosses& losses() const override { return losses_; }

 private:
  // Reads whole lines into the chunk, and detects their format; false at the end.
  bool next_lines() {
    if (chunk_.last) return false;
    drop_front(chunk_.text_bytes);
    for (;;) {
      const size_t got = bytes_.read(chunk_.buffer.data() + held_, std::min(kReadBytes, kChunkBytes - held_));
      arrived_ = Clock::now();
      held_ += got;
      chunk_.last = got == 0;
      if (chunk_.last && bytes_.is_cut_off())
        chunk_.truncation = losses_.truncation = Truncation{chunk_.begin + static_cast<int64_t>(held_), 0};
      if (within_long_line_) skip_long_line();
      find_lines();
      if (chunk_.text_bytes > 0 && knows_format()) return true;
      chunk_.text_bytes = 0;
      if (chunk_.last) {
        if (!no_format_.empty() && !is_stopped()) throw InputError(no_format_);
        return false;
      }
      if (held_ == kChunkBytes) begin_long_line();
    }
  }

  void find_lines() {
    const size_t newline = std::string_view(chunk_.buffer.data(), held_).rfind('\n');
    const size_t whole = newline == std::string_view::npos ? 0 : newline + 1;
    // The last line needs no line end, but after an interruption it is not complete.
    chunk_.text_bytes = chunk_.last && !is_stopped() ? held_ : whole;
  }

  bool is_stopped() const { return options_.stop != nullptr && *options_.stop; }

  // Detects the format. A stream that is joined midway starts within a line, which does not reveal the
  // format.
  bool knows_format() {
    while (!chunk_.format && chunk_.text_bytes > 0) {
      try {
        chunk_.format = make_format();
        no_format_.clear();
      } catch (const InputError& error) {
        no_format_ = error.what();
        const size_t line = std::min(chunk_.text().find('\n'), chunk_.text_bytes - 1) + 1;
        before_format_ += line;
        if (options_.strict || before_format_ > kFirstBytes || (chunk_.last && line == chunk_.text_bytes))
          throw;
        lose_line("a frame of a known capture format");
        chunk_.text_bytes -= line;
        drop_front(line);
      }
    }
    return chunk_.format != nullptr;
  }

  std::unique_ptr<CaptureFormat> make_format() const {
    auto format = CaptureFormat::make(options_.format, chunk_.text().substr(0, kFirstBytes), name_);
    if (is_pipe_ && format->name() == kCandump && !format->has_time())
      throw InputError(name_ +
                       ": found lines of candump without times, expected times, as in: candump -L can0 | "
                       "plimsoll detect MODEL -");
    return format;
  }

  void begin_long_line() {
    lose_line(fmt::format("a line of at most {} bytes", kChunkBytes));
    drop_front(held_);
    within_long_line_ = true;
  }

  void skip_long_line() {
    const size_t newline = std::string_view(chunk_.buffer.data(), held_).find('\n');
    within_long_line_ = newline == std::string_view::npos;
    drop_front(within_long_line_ ? held_ : newline + 1);
  }

  void lose_line(const std::string& expected) {
    if (options_.strict)
      throw InputError(
          fmt::format("{}:{}: found another line, expected {}; leave out --strict to skip such lines", name_,
                      lines_ + 1, expected));
    ++lines_;
    ++losses_.lines;
    ++losses_.expected[expected];
  }

  void drop_front(size_t bytes) {
    std::memmove(chunk_.buffer.data(), chunk_.buffer.data() + bytes, held_ - bytes);
    held_ -= bytes;
    chunk_.begin += static_cast<int64_t>(bytes);
  }

  void parse(FrameBatch& frames) {
    parsed_.frames.width = options_.format.payload;
    parse_chunk(chunk_, !options_.strict, parsed_);
    if (parsed_.error)
      throw InputError(
          fmt::format("{}:{}:{}: found '{}', expected {}; {}", name_, lines_ + parsed_.error->line,
                      parsed_.error->column, parsed_.error->found, parsed_.error->expected,
                      parsed_.error->cut_off ? "the file ends inside this line: --truncated read skips it"
                                             : "leave out --strict to skip such lines"));
    chunk_.first = false;
    lines_ += parsed_.lines;
    for (const auto& [expected, count] : parsed_.skipped) {
      losses_.lines += count;
      losses_.expected[expected] += count;
    }
    losses_.other_channels += parsed_.notes.other_channels;
    if (parsed_.truncation) losses_.truncation = parsed_.truncation;
    add_elapsed(name_, chunk_, parsed_, elapsed_ns_);
    std::swap(frames, parsed_.frames);
    parsed_.frames.channels = frames.channels;  // The next frames use the same channel numbers.
  }

  FeedOptions options_;
  std::string name_;
  bool is_pipe_;
  LiveBytes bytes_;
  CaptureChunk chunk_;
  ParsedChunk parsed_;
  size_t held_ = 0;           // Bytes in the chunk's buffer; the first text_bytes of them are whole lines.
  size_t before_format_ = 0;  // Bytes skipped before the format was known.
  std::string no_format_;     // The error of the last line that was skipped.
  bool within_long_line_ = false;
  int64_t lines_ = 0;
  int64_t elapsed_ns_ = 0;  // Time of the lines so far, for formats whose times are differences.
  Clock::time_point arrived_;
  FeedLosses losses_;
};

}  // namespace

std::unique_ptr<FrameFeed> open_text_feed(const std::string& source, const FeedOptions& options) {
  return std::make_unique<TextFeed>(source, options);
}

}  // namespace plimsoll
