#include "io/ring.h"

#include <liburing.h>

#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

namespace plimsoll {

struct Ring::State {
  io_uring ring{};
  bool locked = false;
  unsigned under_way = 0;  // Requests that next() has not returned.
};

std::unique_ptr<Ring> Ring::make(int entries) {
  auto state = std::make_unique<State>();
  const auto count = static_cast<unsigned>(entries);
  // The thread waits anyway, so it need not be interrupted. Needs Linux 5.19.
  if (::io_uring_queue_init(count, &state->ring, IORING_SETUP_COOP_TASKRUN) != 0 &&
      ::io_uring_queue_init(count, &state->ring, 0) != 0)
    return nullptr;
  return std::unique_ptr<Ring>(new Ring(std::move(state)));
}

Ring::Ring(std::unique_ptr<State> state) : state_(std::move(state)) {}

Ring::~Ring() {
  ::io_uring_queue_exit(&state_->ring);
}

void Ring::keep_locked(std::byte* data, int64_t bytes) {
  const iovec whole{data, static_cast<size_t>(bytes)};
  state_->locked = ::io_uring_register_buffers(&state_->ring, &whole, 1) == 0;
}

void Ring::read(int file, int64_t offset, std::byte* data, int64_t bytes, uint64_t id) {
  io_uring_sqe* const entry = ::io_uring_get_sqe(&state_->ring);
  const auto length = static_cast<unsigned>(bytes);
  const auto from = static_cast<uint64_t>(offset);
  if (state_->locked)
    ::io_uring_prep_read_fixed(entry, file, data, length, from, 0);
  else
    ::io_uring_prep_read(entry, file, data, length, from);
  ::io_uring_sqe_set_data64(entry, id);
  ++state_->under_way;
}

void Ring::write(int file, int64_t offset, const std::byte* data, int64_t bytes, uint64_t id) {
  io_uring_sqe* const entry = ::io_uring_get_sqe(&state_->ring);
  ::io_uring_prep_write(entry, file, data, static_cast<unsigned>(bytes), static_cast<uint64_t>(offset));
  ::io_uring_sqe_set_data64(entry, id);
  ++state_->under_way;
}

int Ring::submit(int wait_for) {
  const int result = ::io_uring_submit_and_wait(&state_->ring, static_cast<unsigned>(wait_for));
  return result >= 0 || result == -EINTR || result == -EAGAIN || result == -EBUSY ? 0 : -result;
}

void Ring::settle() {
  const unsigned taken = state_->under_way - ::io_uring_sq_ready(&state_->ring);
  while (::io_uring_cq_ready(&state_->ring) < taken)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

std::optional<Ring::Done> Ring::next() {
  io_uring_cqe* entry = nullptr;
  if (::io_uring_peek_cqe(&state_->ring, &entry) != 0) return std::nullopt;
  const Done done{::io_uring_cqe_get_data64(entry), entry->res};
  ::io_uring_cqe_seen(&state_->ring, entry);
  --state_->under_way;
  return done;
}

}  // namespace plimsoll
