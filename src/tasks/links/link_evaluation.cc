#include "tasks/links/link_evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/units.h"
#include "engine/blocks/ending.h"
#include "engine/blocks/rank_messages.h"
#include "engine/plan/evaluation_caches.h"
#include "memory/ledger.h"
#include "rows/scanned_rows.h"
#include "sample/seeds/link_seeds.h"
#include "tasks/metrics/ranking.h"
#include "tasks/metrics/undefined_figures.h"

namespace plimsoll {
namespace {

// Number of edges whose negatives are drawn at once: as many as have at most 4096 negatives.
constexpr int64_t kStepEdges = std::max<int64_t>(4096 / kRankedNegatives, 1);
constexpr int64_t kPartEdges = 64 * kStepEdges;  // Number of edges of a rank in a round.
constexpr int64_t kPieceBytes = 4 << 20;         // Approximate bytes of embeddings read at once.

using Nodes = Vector<int64_t, Tag::columns>;

// Scores pairs of nodes, a limited number at a time.
class Scores {
 public:
  // With `caches`, edges and embeddings are cached in up to half of the free bytes of the ledger.
  Scores(const FeatureFile& embeddings, DiskTopology& topology, bool caches)
      : topology_(topology), rows_(embeddings), caches_(caches) {
    if (!caches) return;
    const Ledger& ledger = Ledger::process();
    share_caches(topology, rows_, std::max<int64_t>(ledger.cap() - ledger.held(), 0) / 2);
  }

  // Frees the caches for other uses. Returns false if there are none.
  bool drop_caches() {
    if (!std::exchange(caches_, false)) return false;
    topology_.resize(topology_.min_bytes());
    rows_.resize(0);
    return true;
  }

  // scores[i] is the dot product of nodes[i] and neighbours[i], summed in double precision. Errors:
  // InputError for a pair whose embeddings are not finite.
  void score(std::span<const int64_t> nodes, std::span<const int64_t> neighbours, std::span<float> scores) {
    const int64_t width = rows_.width();
    const auto step = static_cast<size_t>(std::max<int64_t>(kPieceBytes / (8 * width), 1));
    for (size_t first = 0; first < nodes.size(); first += step) {
      const size_t count = std::min(step, nodes.size() - first);
      read(nodes.subspan(first, count), neighbours.subspan(first, count));
      for (size_t i = 0; i < count; ++i) {
        const float* const a = embedding(nodes[first + i]);
        const float* const b = embedding(neighbours[first + i]);
        double sum = 0;
        for (int64_t f = 0; f < width; ++f) sum += double{a[f]} * double{b[f]};
        if (!std::isfinite(sum)) throw not_finite(nodes[first + i], neighbours[first + i]);
        scores[first + i] = static_cast<float>(sum);
      }
    }
  }

 private:
  // Reads the embeddings of both ends of these pairs, each embedding once.
  void read(std::span<const int64_t> nodes, std::span<const int64_t> neighbours) {
    ends_.assign(nodes.begin(), nodes.end());
    ends_.insert(ends_.end(), neighbours.begin(), neighbours.end());
    std::ranges::sort(ends_);
    ends_.erase(std::ranges::unique(ends_).begin(), ends_.end());
    embeddings_.resize(ends_.size() * static_cast<size_t>(rows_.width()));
    rows_.read(ends_, embeddings_.data());
  }
  const float* embedding(int64_t node) const {
    return embeddings_.data() + (std::ranges::lower_bound(ends_, node) - ends_.begin()) * rows_.width();
  }

  static InputError not_finite(int64_t node, int64_t neighbour) {
    return InputError(
        fmt::format("the score of the nodes {} and {} is not finite: a feature within reach of the layers is "
                    "not finite or too large; look for it with `plimsoll verify`",
                    node, neighbour));
  }

  DiskTopology& topology_;
  ScannedRows rows_;
  bool caches_;
  Nodes ends_;                              // Distinct nodes, ascending.
  Vector<float, Tag::columns> embeddings_;  // Embeddings of ends_.
};

// Computes log(1 + exp(-x)) without overflow.
double softplus_of_minus(double x) {
  return std::max(-x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}

// Results for some consecutive edges of a split.
struct EdgeResults {
  std::span<double> ranks;          // Rank of each edge among its negatives.
  std::span<float> scores;          // Scores of the edges.
  std::span<float> uniform_scores;  // Scores of the same number of pairs without an edge.

  static constexpr int64_t kBytes = sizeof(double) + 2 * sizeof(float);  // Bytes of an edge.

  EdgeResults part(int64_t first, int64_t count) const {
    const auto at = static_cast<size_t>(first);
    const auto n = static_cast<size_t>(count);
    return {ranks.subspan(at, n), scores.subspan(at, n), uniform_scores.subspan(at, n)};
  }
};

// Evaluates a split. In each round, every rank evaluates a part of the edges.
class SplitEvaluation {
 public:
  SplitEvaluation(const GraphView& graph, const Topology& topology, size_t split, uint64_t seed,
                  const FullNeighbourOptions& options)
      : graph_(graph),
        negatives_(topology, graph, split, seed),
        split_(split),
        options_(options),
        edges_(static_cast<int64_t>(graph.split_edges(split).size()) / 2),
        messages_(options.ranks, std::min(edges_, kPartEdges) * EdgeResults::kBytes),
        scores_(static_cast<size_t>(2 * edges_), 0.0F),  // A rehearsal computes only the first scores.
        truth_(scores_.size(), 0) {
    std::fill_n(truth_.begin(), edges_, uint8_t{1});
  }

  // Evaluates the split. A rehearsal evaluates only the first edges, because the others need the same memory.
  LinkResult evaluate(Scores& scores) {
    result_.name = kGraphSplits[split_];
    result_.edges = edges_;
    if (options_.rehearsal != nullptr)
      rehearse(scores);
    else
      for (int64_t first = 0; first < edges_; first += options_.ranks * kPartEdges) run_round(first, scores);
    scores.drop_caches();  // The ranking reuses the memory of the caches.
    const auto count = static_cast<double>(edges_);
    for (size_t i = 0; i < scores_.size(); ++i)
      result_.loss += softplus_of_minus(truth_[i] != 0 ? scores_[i] : -scores_[i]);
    result_.loss /= 2 * count;
    result_.mrr /= count;
    for (double& hits : result_.hits) hits /= count;
    const Ranking ranking(scores_, truth_);
    result_.auc = ranking.auc();
    result_.average_precision = ranking.average_precision();
    return result_;
  }

 private:
  void rehearse(Scores& scores) {
    if (options_.ranks > 1) {
      const int64_t rounds = (edges_ - 1) / (options_.ranks * kPartEdges) + 1;
      const int64_t of_rank = std::min(rounds * kPartEdges, edges_) * EdgeResults::kBytes;
      options_.rehearsal->add_bytes_sent((options_.ranks - 1) *
                                         (of_rank + rounds * RankMessages::kHeaderBytes));
    }
    const int64_t count = std::min(kStepEdges, edges_);
    evaluate_step(0, count, scores, results_of(0, count));
  }

  void run_round(int64_t first, Scores& scores) {
    const int me = rank_of(options_.exchange);
    const auto evaluate = [&] {
      evaluate_part(first_of(first, me), scores, results_of(me, count_of(first, me)));
    };
    if (options_.exchange == nullptr)
      evaluate();
    else
      exchange_round(first, error_of(evaluate));
    for (int rank = 0; rank < options_.ranks; ++rank)
      add(first_of(first, rank), results_of(rank, count_of(first, rank)));
  }
  void exchange_round(int64_t first, const std::exception_ptr& error) {
    std::vector<int64_t> sizes;
    for (int rank = 0; rank < options_.ranks; ++rank)
      sizes.push_back(count_of(first, rank) * EdgeResults::kBytes);
    messages_.start(*options_.exchange, sizes, error);
    messages_.finish(*options_.exchange);
  }

  // The first edge and the number of edges that a rank evaluates in the round that starts with edge `first`.
  int64_t first_of(int64_t first, int rank) const { return std::min(first + rank * kPartEdges, edges_); }
  int64_t count_of(int64_t first, int rank) const {
    return std::min(kPartEdges, edges_ - first_of(first, rank));
  }
  // The results of a rank, in its message.
  EdgeResults results_of(int rank, int64_t count) {
    const auto n = static_cast<size_t>(count);
    auto* const ranks = reinterpret_cast<double*>(messages_.content(rank).data());
    auto* const scores = reinterpret_cast<float*>(ranks + n);
    return {{ranks, n}, {scores, n}, {scores + n, n}};
  }

  // Evaluates consecutive edges, a limited number at a time.
  void evaluate_part(int64_t first, Scores& scores, const EdgeResults& results) {
    const auto count = static_cast<int64_t>(results.ranks.size());
    for (int64_t done = 0; done < count; done += kStepEdges) {
      const int64_t step = std::min(kStepEdges, count - done);
      try {
        evaluate_step(first + done, step, scores, results.part(done, step));
      } catch (const BudgetExceeded&) {
        if (!scores.drop_caches()) throw;
        evaluate_step(first + done, step, scores, results.part(done, step));
      }
    }
  }

  void evaluate_step(int64_t first, int64_t count, Scores& scores, const EdgeResults& results) {
    const auto n = static_cast<size_t>(count);
    read(first, count);
    scores.score(nodes_, neighbours_, results.scores);

    negative_nodes_.resize(n);
    negative_neighbours_.resize(n);
    negatives_.uniform(first, negative_nodes_, negative_neighbours_);
    scores.score(negative_nodes_, negative_neighbours_, results.uniform_scores);

    negatives_.ranked(first, nodes_, kRankedNegatives, negative_nodes_, negative_neighbours_);
    ranked_.resize(negative_nodes_.size());
    scores.score(negative_nodes_, negative_neighbours_, ranked_);
    for (size_t i = 0; i < n; ++i)
      results.ranks[i] = rank(results.scores[i], i * static_cast<size_t>(kRankedNegatives));
  }

  void read(int64_t first, int64_t count) {
    const std::span<const int64_t> rows = graph_.split_edges(split_);
    nodes_.clear();
    neighbours_.clear();
    for (int64_t row = first; row < first + count; ++row) {
      neighbours_.push_back(rows[static_cast<size_t>(2 * row)]);
      nodes_.push_back(rows[static_cast<size_t>(2 * row) + 1]);
      for (const int64_t node : {neighbours_.back(), nodes_.back()})
        if (node < 0 || node >= graph_.nodes())
          throw InputError(fmt::format(
              "{}: row {} of {} names node {}, expected 0 .. {}; run `plimsoll verify`",
              graph_.set().folder().string(), row, edges_column(split_), node, graph_.nodes() - 1));
    }
  }

  double rank(float score, size_t first) const {
    double rank = 1;
    for (size_t k = first; k < first + static_cast<size_t>(kRankedNegatives); ++k)
      rank += ranked_[k] > score ? 1 : ranked_[k] == score ? 0.5 : 0;
    return rank;
  }

  // Adds the results of the edges from `first` on, in the order of the edges.
  void add(int64_t first, const EdgeResults& results) {
    std::ranges::copy(results.scores, scores_.begin() + first);
    std::ranges::copy(results.uniform_scores, scores_.begin() + edges_ + first);
    for (const double rank : results.ranks) {
      result_.mrr += 1 / rank;
      for (size_t h = 0; h < kHits.size(); ++h) result_.hits[h] += rank <= static_cast<double>(kHits[h]);
    }
  }

  const GraphView& graph_;
  EvaluationNegatives negatives_;
  size_t split_;
  const FullNeighbourOptions& options_;
  int64_t edges_;
  RankMessages messages_;  // The results of all ranks in a round.
  LinkResult result_;
  Vector<float, Tag::columns> scores_;  // Scores of edges, then of the same number of pairs without an edge.
  Vector<uint8_t, Tag::columns> truth_;
  Nodes nodes_, neighbours_, negative_nodes_, negative_neighbours_;
  Vector<float, Tag::columns> ranked_;
};

}  // namespace

std::vector<LinkResult> evaluate_links(const GraphView& graph, DiskTopology& topology, const GnnModel& model,
                                       const std::vector<std::string>& splits, uint64_t seed,
                                       const FullNeighbourOptions& options) {
  const FeatureFile embeddings = predict_all_nodes(graph, topology, model.gnn(), options);
  std::vector<LinkResult> results;
  for (const std::string& name : splits) {
    const auto split = static_cast<size_t>(std::ranges::find(kGraphSplits, name) - kGraphSplits.begin());
    topology.resize(topology.min_bytes());  // The evaluation allocates its memory before the caches.
    SplitEvaluation evaluate(graph, topology, split, seed, options);
    Scores scores(embeddings, topology, /*caches=*/options.rehearsal == nullptr);
    results.push_back(evaluate.evaluate(scores));
  }
  return results;
}

Json links_json(const std::vector<LinkResult>& results, const std::string& model, int64_t seed) {
  Json splits = Json::array();
  for (const LinkResult& result : results) {
    Json hits = Json::object();
    for (size_t h = 0; h < kHits.size(); ++h) hits[std::to_string(kHits[h])] = result.hits[h];
    splits.push_back({{"name", result.name},
                      {"edges", result.edges},
                      {"ranked_negatives", kRankedNegatives},
                      {"models",
                       {{{"name", model},
                         {"seed", seed},
                         {"loss", result.loss},
                         {"auc", figure_json(result.auc)},
                         {"average_precision", figure_json(result.average_precision)},
                         {"mrr", result.mrr},
                         {"hits", std::move(hits)}}}}});
  }
  return {{"splits", std::move(splits)}};
}

std::vector<std::string> link_columns() {
  std::vector<std::string> names = {"<split", "edges", "loss", "AUC", "AP", "MRR"};
  for (const int64_t k : kHits) names.push_back(fmt::format("Hits@{}", k));
  return names;
}

std::vector<std::string> link_row(const LinkResult& result) {
  std::vector<std::string> row = {result.name,
                                  format_count(result.edges),
                                  figure_text(result.loss),
                                  figure_text(result.auc),
                                  figure_text(result.average_precision),
                                  figure_text(result.mrr)};
  for (const double hits : result.hits) row.push_back(figure_text(hits));
  return row;
}

}  // namespace plimsoll
