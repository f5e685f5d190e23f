#include "train/engine/lane_exchange.h"

#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>

#include "memory/ledger.h"
#include "ops/allocator.h"

namespace plimsoll {
namespace {

// How a rank's part of a batch ended. What a record begins with: this, and the flag.
enum class Ending : int { done, interrupted, out_of_budget, failed };
constexpr size_t kHead = 2;

Ending ending_of(const std::exception_ptr& error) {
  if (!error) return Ending::done;
  try {
    std::rethrow_exception(error);
  } catch (const Interrupted&) {
    return Ending::interrupted;
  } catch (const BudgetExceeded&) {
    return Ending::out_of_budget;
  } catch (...) {
    return Ending::failed;
  }
}

// The worst ending of all ranks decides, as all have to do the same.
void require_all_done(std::span<const double> records, size_t size, const std::exception_ptr& error) {
  Ending worst = Ending::done;
  size_t rank = 0;
  for (size_t r = 0; r * size < records.size(); ++r) {
    const auto ending = static_cast<Ending>(static_cast<int>(records[r * size]));
    if (ending <= worst) continue;
    worst = ending;
    rank = r;
  }
  if (worst == Ending::done) return;
  if (error) std::rethrow_exception(error);
  switch (worst) {
    case Ending::interrupted:
      throw Interrupted(fmt::format("rank {} was asked to stop", rank));
    case Ending::out_of_budget:
      throw Interrupted(fmt::format("rank {} is out of budget", rank));
    default:
      throw Failure(fmt::format("rank {} has failed, and says why", rank));
  }
}

// Rank by rank: its lanes, and what one of the ranks has most of.
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
    most_nodes_ = std::max(most_nodes_, nodes_.size() - begin);
  }
  begins_.push_back(nodes_.size());
}

LaneExchange::LaneExchange(Exchange& exchange, const ParameterList& parameters, int64_t lanes)
    : exchange_(exchange),
      parameters_(parameters),
      lanes_(lanes, exchange.ranks()),
      of_losses_(kMostLanes, exchange.ranks()),
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
  return heap_bytes(nodes * Slices(parameters, ranks).size() * int64_t{sizeof(float)});
}

int64_t LaneExchange::bytes_sent(const ParameterList& parameters, int64_t lanes, int ranks) {
  const auto nodes = static_cast<int64_t>(RankLanes(lanes, ranks).end(0));
  return (nodes + 1) * (ranks - 1) * Slices(parameters, ranks).size() * int64_t{sizeof(float)};
}

// `record`: kHead numbers of its own, and of each of this rank's nodes `of_node`. Behind it all_ has those of
// all ranks, with the sums over the whole batch in rank 0's first node.
void LaneExchange::agree(const RankLanes& lanes, std::span<double> record, size_t of_node,
                         const std::exception_ptr& error) {
  record[0] = static_cast<double>(ending_of(error));
  record[1] = flag_ ? 1 : 0;
  all_.resize(static_cast<size_t>(exchange_.ranks()) * record.size());
  const double before = exchange_.traffic().seconds;
  gather(exchange_, record, all_);
  seconds_for_slower_ += exchange_.traffic().seconds - before;
  flag_ = all_[1] != 0;
  require_all_done(all_, record.size(), error);
  std::vector<double*> nodes(lanes.nodes());
  for (int rank = 0; rank < exchange_.ranks(); ++rank)
    for (size_t n = lanes.begin(rank); n < lanes.end(rank); ++n)
      nodes[n] =
          all_.data() + static_cast<size_t>(rank) * record.size() + kHead + (n - lanes.begin(rank)) * of_node;
  lanes.fold([&](size_t left, size_t right) {
    for (size_t i = 0; i < of_node; ++i) nodes[left][i] += nodes[right][i];
  });
}

double LaneExchange::add_up(LaneTree<BatchSum>& sums, const std::exception_ptr& error) {
  if (!error) sums.end();
  const size_t of_node = 1 + sums.sum().statistics.numbers();
  std::vector<double> record(kHead + lanes_.most_nodes() * of_node);
  for (size_t n = 0; !error && n < sums.nodes(); ++n) {
    double* const place = record.data() + kHead + n * of_node;
    place[0] = sums.sum(n).loss;
    sums.sum(n).statistics.write_to(place + 1);
  }
  agree(lanes_, record, of_node, error);

  const int64_t size = slices_.size();
  const int me = exchange_.rank();
  const auto ranks = static_cast<size_t>(exchange_.ranks());
  for (int rank = 0; rank < exchange_.ranks(); ++rank)
    for (size_t n = lanes_.begin(rank); rank != me && n < lanes_.end(rank); ++n)
      exchange_.receive(rank, std::as_writable_bytes(slice(received_, n, size)));
  for (size_t n = 0; n < sums.nodes(); ++n)
    for (size_t to = 0; to < ranks; ++to) {
      const std::span<float> part = slice(sums.sum(n).row, to, size);
      if (static_cast<int>(to) == me)
        std::ranges::copy(part, slice(received_, lanes_.begin(me) + n, size).begin());
      else
        exchange_.send(static_cast<int>(to), std::as_bytes(part));
    }
  exchange_.wait();
  lanes_.fold([&](size_t left, size_t right) {
    float* const sum = slice(received_, left, size).data();
    const float* const more = slice(received_, right, size).data();
    for (int64_t i = 0; i < size; ++i) sum[i] += more[i];
  });
  RunningStatistics& statistics = sums.sum().statistics;
  statistics.read_from(all_.data() + kHead + 1);
  statistics.commit();
  return all_[kHead];
}

double LaneExchange::add_up(LaneTree<LossSum>& losses, const std::exception_ptr& error) {
  if (!error) losses.end();
  std::vector<double> record(kHead + of_losses_.most_nodes());
  for (size_t n = 0; !error && n < losses.nodes(); ++n) record[kHead + n] = losses.sum(n).value;
  agree(of_losses_, record, 1, error);
  return all_[kHead];
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
    if (rank != exchange_.rank())
      exchange_.receive(rank, std::as_writable_bytes(slice(row, static_cast<size_t>(rank), size)));
  for (int rank = 0; rank < exchange_.ranks(); ++rank)
    if (rank != exchange_.rank()) exchange_.send(rank, std::as_bytes(slice(row, me, size)));
  exchange_.wait();
  for (int rank = 0; rank < exchange_.ranks(); ++rank)
    if (rank != exchange_.rank())
      for (const Slices::Piece& piece : slices_.pieces(rank))
        std::copy_n(place_of(piece), piece.count, value_of(piece));
}

}  // namespace plimsoll
