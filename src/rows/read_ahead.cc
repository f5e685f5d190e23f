#include "rows/read_ahead.h"

#include <utility>

#include "base/mutex.h"
#include "base/start_thread.h"

namespace plimsoll {

ReadAhead::ReadAhead(RowReader& reader, int64_t rows)
    : reader_(reader),
      room_(rows),
      row_bytes_(static_cast<size_t>(reader.layout().row_bytes)),
      rows_(static_cast<size_t>(rows) * row_bytes_) {
  wanted_.reserve(static_cast<size_t>(rows));
  index_.reserve(static_cast<size_t>(rows));
  if (rows > 0) thread_ = start_thread([this] { run(); });
}

ReadAhead::~ReadAhead() {
  if (!thread_.joinable()) return;
  {
    const MutexLock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void ReadAhead::add(int64_t row, int32_t index) {
  wanted_.push_back({row, rows_.data() + wanted_.size() * row_bytes_});
  index_.push_back(index);
}

void ReadAhead::begin() {
  if (wanted_.empty()) return;
  {
    const MutexLock lock(mutex_);
    reading_ = true;
  }
  changed_.notify_all();
}

void ReadAhead::wait() {
  const MutexLock lock(mutex_);
  changed_.wait(mutex_, [this]() PLIMSOLL_REQUIRES(mutex_) { return !reading_; });
  if (!error_) return;
  clear();
  std::rethrow_exception(std::exchange(error_, nullptr));
}

void ReadAhead::clear() {
  wanted_.clear();
  index_.clear();
}

void ReadAhead::run() {
  MutexLock lock(mutex_);
  for (;;) {
    changed_.wait(mutex_, [this]() PLIMSOLL_REQUIRES(mutex_) { return reading_ || ending_; });
    if (!reading_) return;
    lock.unlock();
    std::exception_ptr error;
    try {
      reader_.read(wanted_);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    error_ = error;
    reading_ = false;
    changed_.notify_all();
  }
}

}  // namespace plimsoll
