#include "io/write_behind.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/error.h"
#include "io/file_system.h"

namespace plimsoll {

WriteBehind::WriteBehind(ScratchFile& file, int64_t buffers, int64_t bytes, int under_way)
    : file_(file),
      bytes_(bytes),
      memory_(Tag::cache, buffers * bytes),
      writes_(static_cast<size_t>(under_way)),
      ring_(Ring::make(under_way)) {
  for (int64_t buffer = buffers; buffer-- > 0;) free_.push_back(memory_.data() + buffer * bytes);
  for (size_t id = writes_.size(); id-- > 0;) free_writes_.push_back(id);
}

WriteBehind::~WriteBehind() {
  while (under_way() > 0) reap(true);
}

std::byte* WriteBehind::take() {
  while (free_.empty() && under_way() > 0) reap(true);
  if (error_) std::rethrow_exception(error_);
  if (free_.empty()) throw Failure("all buffers of a scratch file are in use, and none is being written");
  std::byte* const taken = free_.back();
  free_.pop_back();
  return taken;
}

void WriteBehind::write(std::byte* buffer, int64_t offset, int64_t bytes) {
  while (ring_ && free_writes_.empty()) reap(true);
  if (ring_) {
    const size_t id = free_writes_.back();
    free_writes_.pop_back();
    writes_[id] = {buffer, offset, bytes};
    ring_->write(file_.descriptor(), offset, buffer, bytes, id);
    reap(false);
  } else {
    free_.push_back(buffer);
    file_.write(offset, {buffer, static_cast<size_t>(bytes)});
  }
  if (error_) std::rethrow_exception(error_);
}

// Collects finished writes. Waits for one if `wait` is true.
void WriteBehind::reap(bool wait) {
  const bool goes_on = ring_->submit(wait && under_way() > 0 ? 1 : 0) == 0;
  if (!goes_on) ring_->settle();
  while (const std::optional<Ring::Done> done = ring_->next())
    complete(done->id, std::max<int64_t>(done->result, 0));
  if (goes_on) return;
  ring_.reset();  // Also drops requests that the kernel did not take.
  for (size_t id = 0; id < writes_.size(); ++id)
    if (writes_[id].buffer != nullptr) complete(id, 0);
}

void WriteBehind::complete(size_t id, int64_t written) {
  const Write write = std::exchange(writes_[id], {});
  try {
    // Writes an incomplete or failed part again. A second failure throws with its reason.
    if (written < write.bytes)
      file_.write(write.offset + written,
                  {write.buffer + written, static_cast<size_t>(write.bytes - written)});
  } catch (...) {
    if (!error_) error_ = std::current_exception();
  }
  free_.push_back(write.buffer);
  free_writes_.push_back(id);
}

void WriteBehind::finish() {
  while (under_way() > 0) reap(true);
  if (error_) std::rethrow_exception(error_);
}

}  // namespace plimsoll
