#include "engine/blocks/lane_exchange.h"

#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/seconds.h"
#include "engine/blocks/ending.h"
#include "memory/ledger.h"
#include "ops/allocator.h"

namespace plimsoll {
namespace {

// Numbers at the start of a record; the sums of the rank's nodes follow.
enum Head : size_t { kEnding, kFlag, kSeconds, kHead };

// Returns the bytes of the records that a rank sends, if a tree node has `of_node` numbers.
int64_t bytes_of_records(const RankLanes& lanes, size_t of_node, int ranks) {
  return (ranks - 1) * static_cast<int64_t>((kHead + lanes.max_nodes() * of_node) * sizeof(double));
}

// Returns slice `number` of a row that consists of slices of `size` numbers.
std::span<float> slice(const at::Tensor& row, size_t number, int64_t size) {
  return {row.data_ptr<float>() + static_cast<int64_t>(number) * size, static_cast<size_t>(size)};
}

}  // namespace

RankLanes::RankLanes(int64_t lanes, int ranks) {
  for (int rank = 0; rank < ranks; ++rank) {
    const LaneRange own = lanes_of_rank(lanes, rank, ranks);
    begins_.push_back(nodes_.size());
    const size_t begin = nodes_.size();
    for (int64_t lane = own.first; lane < own.end; ++lane) {
      nodes_.push_back({lane, 1});
      while (nodes_.size() > begin + 1 && nodes_[nodes_.size() - 2].is_left_of(nodes_.back())) {
        nodes_.pop_back();
        nodes_.back().lanes *= 2;
      }
    }
    sets_ = std::max(sets_, LaneTree<LossSum>::sets(own));
    max_nodes_ = std::max(max_nodes_, nodes_.size() - begin);
  }
  begins_.push_back(nodes_.size());
}

LaneExchange::LaneExchange(Exchange& exchange, const ParameterList& parameters, int64_t lanes)
    : exchange_(exchange),
      parameters_(parameters),
      lanes_(lanes, exchange.ranks()),
      of_losses_(kMaxLanes, exchange.ranks()),
      slices_(parameters, exchange.ranks()),
      pieces_(slices_.pieces(exchange.rank())) {
  const TagScope scope(Tag::gradients);
  received_ = at::zeros({static_cast<int64_t>(lanes_.nodes()) * slices_.size()});
  int64_t first = 0;
  for (const Slices::Piece& piece : pieces_) {
    gradients_.push_back(received_.narrow(0, first, piece.count));
    first += piece.count;
  }
}

int64_t LaneExchange::bytes(const ParameterList& parameters, int64_t lanes, int ranks) {
  const auto nodes = static_cast<int64_t>(RankLanes(lanes, ranks).nodes());
  return tensor_heap_bytes(nodes * Slices(parameters, ranks).size() * int64_t{sizeof(float)});
}

int64_t LaneExchange::bytes_sent(const ParameterList& parameters, int64_t lanes, int ranks) {
  const auto nodes = static_cast<int64_t>(RankLanes(lanes, ranks).end(0));
  return (nodes + 1) * (ranks - 1) * Slices(parameters, ranks).size() * int64_t{sizeof(float)};
}

int64_t LaneExchange::record_bytes_sent(const ParameterList& parameters, int64_t lanes, int ranks) {
  return bytes_of_records(RankLanes(lanes, ranks), 1 + RunningStatistics(parameters).numbers(), ranks);
}

int64_t LaneExchange::validation_bytes_sent(int ranks) {
  return bytes_of_records(RankLanes(kMaxLanes, ranks), 1, ranks);
}

std::span<double> LaneExchange::record_of(int rank) {
  const size_t size = records_.size() / static_cast<size_t>(exchange_.ranks());
  return std::span(records_).subspan(static_cast<size_t>(rank) * size, size);
}

// Returns the values that the records hold for one tree node; `node` counts the nodes of all ranks.
std::span<double> LaneExchange::values_of(const RankLanes& lanes, size_t node) {
  int rank = 0;
  while (lanes.end(rank) <= node) ++rank;
  return record_of(rank).subspan(kHead + (node - lanes.begin(rank)) * of_node_, of_node_);
}

void LaneExchange::begin_records(const RankLanes& lanes, size_t of_node) {
  begun_ = std::chrono::steady_clock::now();
  of_node_ = of_node;
  records_.assign(static_cast<size_t>(exchange_.ranks()) * (kHead + lanes.max_nodes() * of_node), 0.0);
  for (int rank = 0; rank < exchange_.ranks(); ++rank)
    if (rank != exchange_.rank()) exchange_.receive(rank, std::as_writable_bytes(record_of(rank)));
}

void LaneExchange::send_record(const std::exception_ptr& error) {
  const std::span<double> record = record_of(exchange_.rank());
  record[kEnding] = ending_of(error);
  record[kFlag] = flag_ ? 1 : 0;
  record[kSeconds] = seconds_since(begun_);
  for (int rank = 0; rank < exchange_.ranks(); ++rank)
    if (rank != exchange_.rank()) exchange_.send(rank, std::as_bytes(record));
}

// Waits for all transfers. Afterwards the values of node 0 are the sums over the whole batch.
void LaneExchange::agree(const RankLanes& lanes, const std::exception_ptr& error) {
  const double before = exchange_.traffic().seconds;
  exchange_.wait();
  const double waited = exchange_.traffic().seconds - before;
  double slowest = 0;
  for (int rank = 0; rank < exchange_.ranks(); ++rank) slowest = std::max(slowest, record_of(rank)[kSeconds]);
  seconds_for_slower_ += std::min(waited, slowest - record_of(exchange_.rank())[kSeconds]);
  flag_ = record_of(0)[kFlag] != 0;
  require_all_done(records_, record_of(0).size(), error);
  lanes.fold([&](size_t left, size_t right) {
    const std::span<double> sum = values_of(lanes, left);
    const std::span<double> more = values_of(lanes, right);
    for (size_t i = 0; i < of_node_; ++i) sum[i] += more[i];
  });
}

void LaneExchange::begin(const LaneTree<BatchSum>& sums) {
  begin_records(lanes_, 1 + sums.sum().statistics.numbers());
  for (int rank = 0; rank < exchange_.ranks(); ++rank)
    for (size_t n = lanes_.begin(rank); rank != exchange_.rank() && n < lanes_.end(rank); ++n)
      exchange_.receive(rank, std::as_writable_bytes(slice(received_, n, slices_.size())));
}

void LaneExchange::begin_losses() {
  begin_records(of_losses_, 1);
}

// After an error the rows are still sent, because the other ranks wait for them, but they are not added.
double LaneExchange::add_up(LaneTree<BatchSum>& sums, const std::exception_ptr& error) {
  if (!error) sums.end();
  const int me = exchange_.rank();
  const size_t nodes = lanes_.end(me) - lanes_.begin(me);
  for (size_t n = 0; !error && n < nodes; ++n) {
    const std::span<double> values = values_of(lanes_, lanes_.begin(me) + n);
    values[0] = sums.sum(n).loss;
    sums.sum(n).statistics.write_to(values.data() + 1);
  }
  send_record(error);
  const int64_t size = slices_.size();
  for (size_t n = 0; n < nodes; ++n)
    for (int to = 0; to < exchange_.ranks(); ++to) {
      const std::span<float> part = slice(sums.sum(n).row, static_cast<size_t>(to), size);
      if (to == me)
        std::ranges::copy(part, slice(received_, lanes_.begin(me) + n, size).begin());
      else
        exchange_.send(to, std::as_bytes(part));
    }
  agree(lanes_, error);
  lanes_.fold([&](size_t left, size_t right) {
    float* const sum = slice(received_, left, size).data();
    const float* const more = slice(received_, right, size).data();
    for (int64_t i = 0; i < size; ++i) sum[i] += more[i];
  });
  RunningStatistics& statistics = sums.sum().statistics;
  statistics.read_from(values_of(lanes_, 0).data() + 1);
  statistics.commit();
  return values_of(lanes_, 0)[0];
}

double LaneExchange::add_up(LaneTree<LossSum>& losses, const std::exception_ptr& error) {
  if (!error) losses.end();
  const int me = exchange_.rank();
  for (size_t n = of_losses_.begin(me); !error && n < of_losses_.end(me); ++n)
    values_of(of_losses_, n)[0] = losses.sum(n - of_losses_.begin(me)).value;
  send_record(error);
  agree(of_losses_, error);
  return values_of(of_losses_, 0)[0];
}

// The rows of gradients have been sent, so the first row can hold the parameters.
void LaneExchange::begin_parameters(LaneTree<BatchSum>& sums) {
  for (int rank = 0; rank < exchange_.ranks(); ++rank)
    if (rank != exchange_.rank())
      exchange_.receive(
          rank, std::as_writable_bytes(slice(sums.sum().row, static_cast<size_t>(rank), slices_.size())));
}

void LaneExchange::share_parameters(LaneTree<BatchSum>& sums) {
  const at::Tensor& row = sums.sum().row;
  const int64_t size = slices_.size();
  const auto me = static_cast<size_t>(exchange_.rank());
  const auto value_of = [&](const Slices::Piece& piece) {
    return parameters_.entries()[piece.parameter].value.data_ptr<float>() + piece.first;
  };
  const auto place_of = [&](const Slices::Piece& piece) {
    return row.data_ptr<float>() + slices_.begin(piece.parameter) + piece.first;
  };
  for (const Slices::Piece& piece : pieces_) std::copy_n(value_of(piece), piece.count, place_of(piece));
  for (int rank = 0; rank < exchange_.ranks(); ++rank)
    if (rank != exchange_.rank()) exchange_.send(rank, std::as_bytes(slice(row, me, size)));
  exchange_.wait();
  for (int rank = 0; rank < exchange_.ranks(); ++rank)
    if (rank != exchange_.rank())
      for (const Slices::Piece& piece : slices_.pieces(rank))
        std::copy_n(place_of(piece), piece.count, value_of(piece));
}

}  // namespace plimsoll
