#include "engine/predict/shared_layer.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "engine/blocks/ending.h"

namespace plimsoll {
namespace {

constexpr int64_t kNumber = sizeof(float);

}  // namespace

SharedLayer::SharedLayer(const Pieces& pieces, const NeededPieces& needed, int ranks, int64_t width,
                         const std::filesystem::path& path)
    : pieces_(pieces),
      needed_(needed),
      width_(width),
      ranks_(ranks),
      rounds_(pieces, needed, ranks, width * kNumber),
      messages_{RankMessages(ranks, rounds_.max_rows() * width * kNumber),
                RankMessages(ranks, rounds_.max_rows() * width * kNumber)},
      file_(File::update(path), width),
      own_(RowSet(pieces.count())) {}

int64_t SharedLayer::max_bytes_sent() const {
  const int64_t headers = (rounds_.rounds() + 1) * RankMessages::kHeaderBytes;
  return (ranks_ - 1) * (rounds_.max_rows_of_rank() * width_ * kNumber + headers);
}

const NeededPieces& SharedLayer::join(Exchange& exchange) {
  exchange_ = &exchange;
  for (int64_t piece = 0; piece < pieces_.count(); ++piece)
    if (rounds_.is_of_rank(exchange.rank(), piece) && (!needed_ || needed_->has(piece))) own_->add(piece);
  return own_;
}

void SharedLayer::begin() {
  filled_ = 0;
  send_full_rounds();
}

void SharedLayer::add(int64_t first, std::span<const float> rows) {
  file_.add(first, rows);
  if (round_ >= rounds_.rounds() || first < rounds_.first_node(exchange_->rank(), round_)) return;
  std::memcpy(messages(round_).content(exchange_->rank()).data() + filled_ * width_ * kNumber, rows.data(),
              rows.size_bytes());
  filled_ += std::ssize(rows) / width_;
  send_full_rounds();
}

void SharedLayer::finish(const std::exception_ptr& error) {
  std::exception_ptr ended = error;
  if (!ended) ended = error_of([&] { receive_round(); });
  // The last round reports to the others how this rank's part ended; it has no rows unless the part failed
  // earlier.
  if (!has_ended_) {
    const std::exception_ptr last = error_of([&] {
      send_round(ended);
      receive_round();
    });
    if (!ended) ended = last;
  }
  if (ended) std::rethrow_exception(ended);
}

int64_t SharedLayer::estimate_done(int64_t node) const {
  const int64_t first = rounds_.first_node(exchange_->rank(), 0);
  const int64_t own = rounds_.first_node(exchange_->rank(), rounds_.rounds()) - first;
  const auto nodes = static_cast<double>(pieces_.begins.back());
  return own == 0
             ? 0
             : static_cast<int64_t>(static_cast<double>(node - first) / static_cast<double>(own) * nodes);
}

// Sends each round that has all its rows, which may be none.
void SharedLayer::send_full_rounds() {
  while (round_ < rounds_.rounds() && filled_ == rounds_.rows(exchange_->rank(), round_)) send_round(nullptr);
}

// Before a round is sent, the messages of the round before it must have arrived.
void SharedLayer::send_round(const std::exception_ptr& error) {
  receive_round();
  std::vector<int64_t> sizes(static_cast<size_t>(ranks_), 0);
  for (int rank = 0; rank < ranks_ && round_ < rounds_.rounds(); ++rank)
    sizes[static_cast<size_t>(rank)] = rounds_.rows(rank, round_) * width_ * kNumber;
  has_ended_ = true;  // Unless the messages can be sent.
  messages(round_).start(*exchange_, sizes, error);
  has_ended_ = false;
  is_in_flight_ = true;
  ++round_;
  filled_ = 0;
}

void SharedLayer::receive_round() {
  if (!std::exchange(is_in_flight_, false)) return;
  const int64_t round = round_ - 1;
  has_ended_ = true;  // Unless all ranks succeeded.
  messages(round).finish(*exchange_);
  has_ended_ = false;
  if (round < rounds_.rounds()) write_rows_of_others(round);
}

void SharedLayer::write_rows_of_others(int64_t round) {
  for (int rank = 0; rank < ranks_; ++rank) {
    if (rank == exchange_->rank()) continue;
    const auto* rows = reinterpret_cast<const float*>(messages(round).content(rank).data());
    rounds_.visit_ranges(rank, round, [&](int64_t first, int64_t end) {
      const int64_t numbers = (end - first) * width_;
      file_.add(first, std::span(rows, static_cast<size_t>(numbers)));
      rows += numbers;
    });
  }
}

}  // namespace plimsoll
