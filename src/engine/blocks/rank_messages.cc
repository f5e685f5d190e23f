#include "engine/blocks/rank_messages.h"

#include <cstring>
#include <vector>

#include "engine/blocks/ending.h"

namespace plimsoll {

RankMessages::RankMessages(int ranks, int64_t max_bytes)
    : ranks_(ranks),
      stride_(kHeaderBytes + (max_bytes + kHeaderBytes - 1) / kHeaderBytes * kHeaderBytes),
      messages_(static_cast<size_t>(ranks * stride_)) {}

std::span<std::byte> RankMessages::content(int rank) {
  return message(rank, stride_ - kHeaderBytes).subspan(kHeaderBytes);
}

std::span<std::byte> RankMessages::message(int rank, int64_t content_bytes) {
  return std::span(messages_).subspan(static_cast<size_t>(rank * stride_),
                                      static_cast<size_t>(kHeaderBytes + content_bytes));
}

void RankMessages::start(Exchange& exchange, std::span<const int64_t> sizes,
                         const std::exception_ptr& error) {
  error_ = error;
  const int me = exchange.rank();
  const double ending = ending_of(error);
  const std::span<std::byte> mine = message(me, sizes[static_cast<size_t>(me)]);
  std::memcpy(mine.data(), &ending, sizeof(ending));
  for (int rank = 0; rank < ranks_; ++rank)
    if (rank != me) exchange.receive(rank, message(rank, sizes[static_cast<size_t>(rank)]));
  for (int rank = 0; rank < ranks_; ++rank)
    if (rank != me) exchange.send(rank, mine);
}

void RankMessages::finish(Exchange& exchange) {
  exchange.wait();
  std::vector<double> endings(static_cast<size_t>(ranks_));
  for (int rank = 0; rank < ranks_; ++rank)
    std::memcpy(&endings[static_cast<size_t>(rank)], message(rank, 0).data(), sizeof(double));
  require_all_done(endings, 1, error_);
}

}  // namespace plimsoll
