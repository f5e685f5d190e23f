#include "engine/blocks/shared_prediction.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "engine/blocks/ending.h"
#include "engine/blocks/item_kind.h"
#include "memory/vector.h"

namespace plimsoll {
namespace {

// A list of graphs, cut into blocks. In each round, every rank predicts a few blocks.
struct Rounds {
  Rounds(const Objective& objective, const GraphShapes& shapes, const BlockLimits& limits,
         std::span<const int64_t> list, int of_ranks)
      : graphs(list), begins(cut_blocks(list, shapes, limits)), ranks(of_ranks) {
    constexpr int64_t kBytes = int64_t{1} << 20;  // Bytes of a round, unless one block per rank needs more.
    constexpr int64_t kMaxBlocks = 16;
    const ItemKind& kind = item_kind(objective.collate_options().items);
    int64_t max = 1;
    numbers.reserve(static_cast<size_t>(blocks()));
    for (int64_t b = 0; b < blocks(); ++b) {
      numbers.push_back(0);
      for (const int64_t g : graphs_of(b, b + 1)) numbers.back() += kind.count(shapes[g]);
      numbers.back() *= objective.outputs();
      max = std::max(max, numbers.back());
    }
    of_rank = std::clamp<int64_t>(kBytes / (ranks * max * int64_t{sizeof(float)}), 1, kMaxBlocks);
    max_numbers = std::min(ranks * of_rank, blocks()) * max;
  }

  int64_t blocks() const { return std::ssize(begins) - 1; }
  std::span<const int64_t> graphs_of(int64_t block, int64_t end) const {
    const auto first = static_cast<size_t>(begins[static_cast<size_t>(block)]);
    return graphs.subspan(first, static_cast<size_t>(begins[static_cast<size_t>(end)]) - first);
  }
  // The blocks of a rank in the round that starts with block `first`.
  LaneRange blocks_of(int64_t first, int rank) const {
    return {std::min(first + rank * of_rank, blocks()), std::min(first + (rank + 1) * of_rank, blocks())};
  }

  const std::span<const int64_t> graphs;
  const GraphList begins;
  const int64_t ranks;
  Vector<int64_t, Tag::columns> numbers;  // Number of outputs of each block.
  int64_t of_rank = 0;                    // Number of blocks of a rank in a round.
  int64_t max_numbers = 0;                // Maximum number of outputs in a round.
};

// The outputs of all ranks for the blocks of a round.
class Round {
 public:
  Round(Exchange& exchange, const Rounds& rounds)
      : exchange_(exchange),
        rounds_(rounds),
        outputs_(static_cast<size_t>(rounds.max_numbers)),
        records_(static_cast<size_t>(rounds.ranks) * size_of_record()) {}

  // Runs this rank's blocks, unless there is an `error`, and exchanges the results with the other ranks.
  void run(BlockEngine& engine, int64_t first, const std::exception_ptr& error) {
    visit_others([&](int rank) {
      exchange_.receive(rank, std::as_writable_bytes(record_of(rank)));
      exchange_.receive(rank, std::as_writable_bytes(outputs_of(first, rank)));
    });
    const int me = exchange_.rank();
    const LaneRange own = rounds_.blocks_of(first, me);
    const std::exception_ptr ended = error ? error : error_of([&] { predict(engine, first, own); });
    record_of(me)[0] = ending_of(ended);
    visit_others([&](int rank) {
      exchange_.send(rank, std::as_bytes(record_of(me)));
      exchange_.send(rank, std::as_bytes(outputs_of(first, me)));
    });
    exchange_.wait();
    require_all_done(records_, size_of_record(), ended);
  }

  // The loss of a block in the round that starts with block `first`.
  double loss_of(int64_t first, int64_t block) const {
    const auto rank = static_cast<size_t>((block - first) / rounds_.of_rank);
    return records_[rank * size_of_record() + 1 + static_cast<size_t>((block - first) % rounds_.of_rank)];
  }
  std::span<float> outputs_of(int64_t first, LaneRange blocks) {
    const auto sum = [&](int64_t from, int64_t to) {
      size_t numbers = 0;
      for (int64_t b = from; b < to; ++b)
        numbers += static_cast<size_t>(rounds_.numbers[static_cast<size_t>(b)]);
      return numbers;
    };
    return std::span(outputs_).subspan(sum(first, blocks.first), sum(blocks.first, blocks.end));
  }

 private:
  // A record has an ending and, for each block, the sum of its losses.
  size_t size_of_record() const { return 1 + static_cast<size_t>(rounds_.of_rank); }
  std::span<double> record_of(int rank) {
    return std::span(records_).subspan(static_cast<size_t>(rank) * size_of_record(), size_of_record());
  }
  std::span<float> outputs_of(int64_t first, int rank) {
    return outputs_of(first, rounds_.blocks_of(first, rank));
  }
  template <typename Visit>
  void visit_others(const Visit& visit) {
    for (int rank = 0; rank < exchange_.ranks(); ++rank)
      if (rank != exchange_.rank()) visit(rank);
  }

  void predict(BlockEngine& engine, int64_t first, LaneRange own) {
    if (own.first == own.end) return;
    std::span<double> losses = record_of(exchange_.rank()).subspan(1);
    int64_t block = own.first;
    engine.predict_blocks(
        rounds_.graphs_of(own.first, own.end), [&](std::span<const float> found, double loss) {
          const std::span<float> place = outputs_of(first, LaneRange{block, block + 1});
          if (found.size() != place.size())
            throw Failure(fmt::format("the block has {} outputs for {} items", found.size(), place.size()));
          std::ranges::copy(found, place.begin());
          losses[static_cast<size_t>(block - own.first)] = loss;
          ++block;
        });
  }

  Exchange& exchange_;
  const Rounds& rounds_;
  Vector<float, Tag::columns> outputs_;
  std::vector<double> records_;
};

}  // namespace

double predict_on_ranks(BlockEngine& engine, Exchange* exchange, std::span<const int64_t> graphs,
                        const BlockEngine::Take& take) {
  if (exchange == nullptr) return engine.predict(graphs, take);
  const Rounds rounds(engine.objective(), engine.shapes(), engine.limits(), graphs, exchange->ranks());
  Round round(*exchange, rounds);
  LaneTree<LossSum> losses(kMaxLanes, [] { return LossSum(); });
  losses.begin(rounds.blocks());
  std::exception_ptr error;  // Error thrown by `take`; the other ranks are notified of it in the next round.
  int64_t first = 0;
  for (; first < rounds.blocks(); first += rounds.ranks * rounds.of_rank) {
    round.run(engine, first, error);
    const int64_t end = std::min(first + rounds.ranks * rounds.of_rank, rounds.blocks());
    for (int64_t b = first; b < end; ++b)
      losses.add([&](LossSum& sum) { sum.value += round.loss_of(first, b); });
    error = error_of([&] {
      if (const auto all = round.outputs_of(first, LaneRange{first, end}); !all.empty()) take(all);
    });
  }
  // Runs a last round without blocks, which notifies the other ranks of an error of `take`.
  round.run(engine, rounds.blocks(), error);
  const auto count = static_cast<double>(engine.items(graphs));
  return count == 0 ? 0 : losses.end().value / count;
}

double predict_on_ranks(BlockEngine& engine, Exchange* exchange, std::span<const int64_t> graphs,
                        std::span<float> outputs) {
  size_t next = 0;
  return predict_on_ranks(engine, exchange, graphs, [&](std::span<const float> found) {
    std::ranges::copy(found, outputs.subspan(next).begin());
    next += found.size();
  });
}

int64_t bytes_to_predict_on_ranks(const Objective& objective, const GraphShapes& shapes,
                                  const BlockLimits& limits,
                                  const std::vector<std::span<const int64_t>>& lists, int ranks) {
  if (ranks == 1) return 0;
  int64_t max = 0;
  for (const std::span<const int64_t> list : lists) {
    const Rounds rounds(objective, shapes, limits, list, ranks);
    max = std::max(
        max, rounds.max_numbers * int64_t{sizeof(float)} + rounds.blocks() * int64_t{2 * sizeof(int64_t)});
  }
  return max;
}

}  // namespace plimsoll
