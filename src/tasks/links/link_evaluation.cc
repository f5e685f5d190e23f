#include "tasks/links/link_evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/units.h"
#include "engine/plan/evaluation_caches.h"
#include "memory/ledger.h"
#include "rows/scanned_rows.h"
#include "sample/seeds/link_seeds.h"
#include "tasks/metrics/ranking.h"
#include "tasks/metrics/undefined_figures.h"

namespace plimsoll {
namespace {

constexpr int64_t kDrawnEdges = 4096;     // Maximum number of edges whose negatives are drawn at once.
constexpr int64_t kPieceBytes = 4 << 20;  // Approximate bytes of embeddings read at once.

using Nodes = Vector<int64_t, Tag::columns>;

// Scores pairs of nodes, a limited number at a time.
class Scores {
 public:
  // `caches`: whether edges and embeddings are cached.
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

  // scores[i] is the dot product of nodes[i] and neighbours[i], summed in double precision.
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

class SplitEvaluation {
 public:
  SplitEvaluation(const GraphView& graph, const Topology& topology, size_t split, uint64_t seed)
      : graph_(graph),
        negatives_(topology, graph, split, seed),
        split_(split),
        edges_(static_cast<int64_t>(graph.split_edges(split).size()) / 2),
        scores_(static_cast<size_t>(2 * edges_), 0.0F),  // A rehearsal computes only the first scores.
        truth_(scores_.size(), 0) {
    std::fill_n(truth_.begin(), edges_, uint8_t{1});
  }

  // Evaluates the split. A rehearsal evaluates only the first edges, because the others need the same memory.
  LinkResult evaluate(Scores& scores, bool rehearses) {
    result_.name = kGraphSplits[split_];
    result_.edges = edges_;
    const int64_t step = std::max<int64_t>(kDrawnEdges / kRankedNegatives, 1);
    for (int64_t first = 0; first < edges_ && !(rehearses && first > 0); first += step) {
      const int64_t piece = std::min(step, edges_ - first);
      try {
        evaluate_piece(first, piece, scores);
      } catch (const BudgetExceeded&) {
        if (!scores.drop_caches()) throw;
        evaluate_piece(first, piece, scores);
      }
    }
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
  void evaluate_piece(int64_t first, int64_t count, Scores& scores) {
    const auto n = static_cast<size_t>(count);
    read(first, count);
    const std::span<float> all(scores_);
    const std::span<float> found = all.subspan(static_cast<size_t>(first), n);
    scores.score(nodes_, neighbours_, found);

    negative_nodes_.resize(n);
    negative_neighbours_.resize(n);
    negatives_.uniform(first, negative_nodes_, negative_neighbours_);
    scores.score(negative_nodes_, negative_neighbours_, all.subspan(static_cast<size_t>(edges_ + first), n));

    negatives_.ranked(first, nodes_, kRankedNegatives, negative_nodes_, negative_neighbours_);
    ranked_.resize(negative_nodes_.size());
    scores.score(negative_nodes_, negative_neighbours_, ranked_);
    for (size_t i = 0; i < n; ++i) rank(found[i], i * static_cast<size_t>(kRankedNegatives));
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

  void rank(float score, size_t first) {
    double rank = 1;
    for (size_t k = first; k < first + static_cast<size_t>(kRankedNegatives); ++k)
      rank += ranked_[k] > score ? 1 : ranked_[k] == score ? 0.5 : 0;
    result_.mrr += 1 / rank;
    for (size_t h = 0; h < kHits.size(); ++h) result_.hits[h] += rank <= static_cast<double>(kHits[h]);
  }

  const GraphView& graph_;
  EvaluationNegatives negatives_;
  size_t split_;
  int64_t edges_;
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
    SplitEvaluation evaluate(graph, topology, split, seed);
    const bool rehearses = options.rehearsal != nullptr;
    Scores scores(embeddings, topology, /*caches=*/!rehearses);
    results.push_back(evaluate.evaluate(scores, rehearses));
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
