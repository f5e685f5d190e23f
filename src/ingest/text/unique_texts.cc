#include "ingest/text/unique_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <queue>
#include <vector>

#include "base/error.h"
#include "base/hash64.h"

namespace plimsoll {
namespace {

constexpr size_t kBuffer = 64 << 10;
constexpr size_t kBytesOfPlace = 24;  // Bytes per place, with two slots.
constexpr uint32_t kFree = 0xFFFFFFFF;

// Writes texts in order: length of the shared prefix, length of the rest, and the rest.
class RunWriter {
 public:
  RunWriter(const std::filesystem::path& path, FileSystem& files)
      : file_(File::create(path, files)), buffer_(kBuffer) {}

  void add(std::string_view text) {
    const auto shared = static_cast<size_t>(
        std::mismatch(text.begin(), text.end(), previous_.begin(), previous_.end()).first - text.begin());
    put_number(shared);
    put_number(text.size() - shared);
    for (const char c : text.substr(shared)) put(c);
    previous_ = text;
  }
  void flush() {
    file_.write(buffer_.data(), filled_);
    filled_ = 0;
  }

 private:
  void put(char c) {
    if (filled_ == buffer_.size()) flush();
    buffer_[filled_++] = c;
  }
  void put_number(size_t number) {
    for (; number >= 128; number >>= 7) put(static_cast<char>(number | 128));
    put(static_cast<char>(number));
  }

  File file_;
  Vector<char, Tag::ingest> buffer_;
  size_t filled_ = 0;
  std::string previous_;
};

uint64_t first_eight(std::string_view text) {
  uint64_t result = 0;
  for (size_t i = 0; i < 8; ++i)
    result = result << 8 | (i < text.size() ? static_cast<unsigned char>(text[i]) : 0U);
  return result;
}

}  // namespace

class UniqueTexts::RunReader {
 public:
  RunReader(const std::filesystem::path& path, FileSystem& files)
      : file_(File::open(path, files)), buffer_(kBuffer) {}

  bool next() {
    int c = get();
    if (c < 0) return false;
    const size_t shared = number(c);
    text_.resize(shared);
    for (size_t left = number(get()); left > 0; --left) text_ += static_cast<char>(get());
    return true;
  }
  const std::string& text() const { return text_; }

 private:
  int get() {
    if (at_ == filled_) {
      filled_ = file_.read(buffer_.data(), buffer_.size());
      at_ = 0;
      if (filled_ == 0) return -1;
    }
    return static_cast<unsigned char>(buffer_[at_++]);
  }
  size_t number(int c) {
    size_t result = 0;
    for (int shift = 0;; shift += 7, c = get()) {
      result |= static_cast<size_t>(c & 127) << shift;
      if (c < 128) return result;
    }
  }

  File file_;
  Vector<char, Tag::ingest> buffer_;
  size_t at_ = 0;
  size_t filled_ = 0;
  std::string text_;
};

UniqueTexts::UniqueTexts(std::filesystem::path folder, std::string name, int64_t memory, FileSystem& files)
    : folder_(std::move(folder)),
      name_(std::move(name)),
      files_(files),
      memory_(memory),
      max_bytes_(std::clamp<size_t>(static_cast<size_t>(memory) / 2, 2 * kLongest, size_t{1} << 31)),
      max_places_(std::bit_floor(std::max<size_t>(static_cast<size_t>(memory) / 2 / kBytesOfPlace, 1024))) {
  bytes_.reserve(max_bytes_);
  places_.reserve(max_places_);
  slots_.assign(2 * max_places_, kFree);
}

void UniqueTexts::release() {
  Vector<Place, Tag::ingest>().swap(places_);
  Vector<char, Tag::ingest>().swap(bytes_);
  Vector<uint32_t, Tag::ingest>().swap(slots_);
}

UniqueTexts::~UniqueTexts() {
  for (const auto& run : runs_) files_.remove_file(run);
}

void UniqueTexts::add(std::string_view text) {
  if (text.size() > kLongest)
    throw InputError(
        fmt::format("found an ID of {} bytes that begins with '{}', expected {} at most; shorten it",
                    text.size(), text.substr(0, 40), kLongest));
  if (bytes_.size() + text.size() > max_bytes_ || places_.size() == max_places_) spill();
  size_t slot = hash64(text, 0) % slots_.size();
  for (; slots_[slot] != kFree; slot = (slot + 1) % slots_.size())
    if (this->text(places_[slots_[slot]]) == text) return;
  slots_[slot] = static_cast<uint32_t>(places_.size());
  places_.push_back(
      {first_eight(text), static_cast<uint32_t>(bytes_.size()), static_cast<uint32_t>(text.size())});
  bytes_.insert(bytes_.end(), text.begin(), text.end());
}

void UniqueTexts::sort() {
  std::sort(places_.begin(), places_.end(), [&](const Place& a, const Place& b) {
    return a.begin8 != b.begin8 ? a.begin8 < b.begin8 : text(a) < text(b);
  });
}

std::filesystem::path UniqueTexts::next_path() {
  return folder_ / fmt::format("{}.{}.run", name_, named_++);
}

void UniqueTexts::spill() {
  sort();
  runs_.push_back(next_path());
  RunWriter writer(runs_.back(), files_);
  for (const Place& place : places_) writer.add(text(place));
  writer.flush();
  places_.clear();
  bytes_.clear();
  std::fill(slots_.begin(), slots_.end(), kFree);
}

void UniqueTexts::take(const std::function<void(std::string_view)>& next) {
  if (runs_.empty()) {
    sort();
    for (const Place& place : places_) next(text(place));
    release();
    return;
  }
  if (!places_.empty()) spill();
  release();
  const size_t fan_in = std::clamp<size_t>(static_cast<size_t>(memory_) / (kBuffer + kLongest), 2, 256);
  while (runs_.size() > fan_in) {
    runs_.push_back(next_path());
    RunWriter writer(runs_.back(), files_);
    merge(fan_in, [&](std::string_view text) { writer.add(text); });
    writer.flush();
    remove_first(fan_in);
  }
  merge(runs_.size(), next);
  remove_first(runs_.size());
}

void UniqueTexts::merge(size_t count, const std::function<void(std::string_view)>& next) {
  std::deque<RunReader> readers;
  const auto later = [&](size_t a, size_t b) { return readers[a].text() > readers[b].text(); };
  std::priority_queue<size_t, std::vector<size_t>, decltype(later)> queue(later);
  for (size_t run = 0; run < count; ++run) {
    readers.emplace_back(runs_[run], files_);
    if (readers.back().next()) queue.push(run);
  }
  std::string last;
  for (bool first = true; !queue.empty(); first = false) {
    const size_t run = queue.top();
    queue.pop();
    if (first || readers[run].text() != last) {
      last = readers[run].text();
      next(last);
    }
    if (readers[run].next()) queue.push(run);
  }
}

void UniqueTexts::remove_first(size_t count) {
  for (; count > 0; --count) {
    if (files_.remove_file(runs_.front()) != 0) throw file_failure("cannot delete", runs_.front());
    runs_.pop_front();
  }
}

}  // namespace plimsoll
