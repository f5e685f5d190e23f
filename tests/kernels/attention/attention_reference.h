#pragma once

// Graph attention in float64 on a list of edges, written from the formulas of kernels/gat/gat.h and
// kernels/gatv2/gatv2.h. The kernels are compared with it.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/philox.h"
#include "kernels/attention/attention.h"

namespace plimsoll {

/// Numbers by name: inputs, results, or gradients under the name of the input.
using Arrays = std::map<std::string, std::vector<double>>;

struct TestGraph {
  int64_t sources = 0;
  int64_t targets = 0;
  bool same_nodes = true;
  std::vector<int64_t> source{};
  std::vector<int64_t> target{};
  std::vector<int64_t> graph_of_target{};
  std::vector<int64_t> first_edge_of_target{};
  std::vector<int64_t> local_of_target{};

  int64_t edges() const { return static_cast<int64_t>(source.size()); }
};

/// Graphs of up to `nodes` nodes, one after the other, with duplicate edges, self-loops and nodes without
/// edges. Target 3 of every graph that has one gets `hub` additional edges.
inline TestGraph small_graphs(int graphs, int64_t nodes, int64_t hub, uint64_t seed = 1) {
  std::mt19937_64 draw(seed);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(draw() % static_cast<uint64_t>(n)); };
  TestGraph result;
  for (int64_t g = 0; g < graphs; ++g) {
    const int64_t size = 1 + below(nodes);
    const int64_t first = result.sources;
    const int64_t first_edge = result.edges();
    const auto add = [&](int64_t from, int64_t to) {
      result.source.push_back(first + from);
      result.target.push_back(first + to);
    };
    for (int64_t e = below(2 * size + 1); e > 0; --e) add(below(size), below(size));
    if (size > 3)
      for (int64_t e = 0; e < hub; ++e) add(below(size), 3);
    for (int64_t i = 0; i < size; ++i) {
      result.graph_of_target.push_back(g);
      result.first_edge_of_target.push_back(first_edge);
      result.local_of_target.push_back(i);
    }
    result.sources += size;
  }
  result.targets = result.sources;
  return result;
}

/// Targets that are other nodes than the sources. There are at most as many targets as sources.
inline TestGraph other_targets(int64_t sources, int64_t targets, int64_t edges) {
  std::mt19937_64 draw(2);
  TestGraph result{.sources = sources, .targets = targets, .same_nodes = false};
  for (int64_t e = 0; e < edges; ++e) {
    result.source.push_back(static_cast<int64_t>(draw() % static_cast<uint64_t>(sources)));
    result.target.push_back(static_cast<int64_t>(draw() % static_cast<uint64_t>(targets)));
  }
  for (int64_t i = 0; i < targets; ++i) {
    result.graph_of_target.push_back(0);
    result.first_edge_of_target.push_back(0);
    result.local_of_target.push_back(i);
  }
  return result;
}

struct AttentionProblem {
  TestGraph graph;
  int64_t heads = 1;
  int64_t channels = 1;
  int64_t features = 0;
  bool loops = true;
  LoopFill fill = LoopFill::mean;
  double fill_value = 0;
  double slope = 0.2;
  double dropout = 0;
  bool bias = true;
  bool alpha_gradient = true;
  bool edge_attr_gradient = true;
  bool shared_weights = false;  ///< For GATv2, z_target is z.
  Arrays inputs{};              ///< The inputs of both kinds of attention, with "grad_out" and "grad_alpha".

  int64_t width() const { return heads * channels; }
  int64_t alpha_rows() const { return graph.edges() + (loops ? graph.targets : 0); }

  /// Draws random inputs that float32 holds exactly.
  void draw_inputs() {
    std::mt19937_64 draw(3);
    std::normal_distribution<double> normal;
    const auto random = [&](const std::string& name, int64_t numbers, double scale = 1) {
      std::vector<double>& to = inputs[name];
      to.clear();
      for (int64_t n = 0; n < numbers; ++n) to.push_back(static_cast<float>(scale * normal(draw)));
    };
    random("z", graph.sources * width());
    random("z_target", graph.targets * width());
    random("s", graph.sources * heads);
    random("t", graph.targets * heads);
    random("q", features * heads);
    random("edge_weight", features * width(), 0.5);
    random("att", width(), 0.5);
    random("edge_attr", graph.edges() * features);
    random("bias", bias ? width() : 0);
    random("grad_out", graph.targets * width());
    random("grad_alpha", alpha_gradient ? alpha_rows() * heads : 0);
    if (shared_weights) inputs["z_target"] = inputs["z"];
  }

  AttentionDropout keys() const {
    return {.p = dropout,
            .seed = 0x123456789ABCDEF,
            .layer = 3,
            .epoch = 4,
            .item = graph.graph_of_target.data(),
            .local = graph.local_of_target.data(),
            .first_edge = graph.first_edge_of_target.data()};
  }
};

/// An attention layer step by step. Gradients are those of the loss <grad_out, out> + <grad_alpha, alpha>.
class AttentionReference {
 public:
  AttentionReference(const AttentionProblem& problem, bool dynamic)
      : p_(problem), in_(problem.inputs), dynamic_(dynamic) {
    list_links();
    forward();
  }

  const Arrays& values() const { return values_; }

  double loss() const {
    double sum = 0;
    for (const char* const name : {"out", "alpha"}) {
      const std::vector<double>& weight = in_.at(std::string("grad_") + name);
      for (size_t n = 0; n < weight.size(); ++n) sum += weight[n] * values_.at(name)[n];
    }
    return sum;
  }

  Arrays gradients() const {
    Arrays to;
    for (const auto& [name, numbers] : in_) to[name].assign(numbers.size(), 0);
    const int64_t heads = p_.heads;
    for (int64_t i = 0; i < p_.graph.targets; ++i)
      for (int64_t h = 0; h < heads; ++h) {
        double delta = 0;
        for (const Link& link : links_)
          if (link.target == i) delta += link.alpha[at(h)] * alpha_gradient(link, h);
        for (const Link& link : links_)
          if (link.target == i)
            score_gradient(link, h, link.alpha[at(h)] * (alpha_gradient(link, h) - delta), to);
      }
    for (const Link& link : links_)
      for (int64_t c = 0; c < p_.width(); ++c)
        to["z"][at(link.source * p_.width() + c)] += link.weight(c / p_.channels) * grad_out(link.target, c);
    if (p_.bias)
      for (int64_t i = 0; i < p_.graph.targets; ++i)
        for (int64_t c = 0; c < p_.width(); ++c) to["bias"][at(c)] += grad_out(i, c);
    return to;
  }

 private:
  // An edge, or a self-loop that the layer adds.
  struct Link {
    int64_t source, target;
    int64_t row;  // Row of alpha; below the number of edges it is the caller's edge.
    std::vector<double> features{};
    std::vector<double> factor{}, score{}, alpha{};  // By head; alpha excludes `factor`.

    double weight(int64_t h) const { return factor[at(h)] * alpha[at(h)]; }
  };

  static size_t at(int64_t index) { return static_cast<size_t>(index); }
  double grad_out(int64_t i, int64_t c) const { return in_.at("grad_out")[at(i * p_.width() + c)]; }

  void list_links() {
    const TestGraph& graph = p_.graph;
    const std::vector<double>& features = in_.at("edge_attr");
    for (int64_t e = 0; e < graph.edges(); ++e) {
      if (p_.loops && graph.same_nodes && graph.source[at(e)] == graph.target[at(e)]) continue;
      links_.push_back({graph.source[at(e)],
                        graph.target[at(e)],
                        e,
                        {features.begin() + e * p_.features, features.begin() + (e + 1) * p_.features}});
    }
    if (p_.loops) {
      const size_t edges = links_.size();
      for (int64_t i = 0; i < graph.targets; ++i) {
        Link loop{i, i, graph.edges() + i, std::vector<double>(at(p_.features))};
        for (double& f : loop.features) f = p_.fill == LoopFill::value ? p_.fill_value : 0;
        for (size_t e = 0; e < edges && p_.fill == LoopFill::mean; ++e)
          if (links_[e].target == i)
            for (int64_t k = 0; k < p_.features; ++k)
              loop.features[at(k)] += links_[e].features[at(k)] / static_cast<double>(edges_of(i).size());
        links_.push_back(loop);
      }
    }
    for (Link& link : links_)
      for (int64_t h = 0; h < p_.heads; ++h) link.factor.push_back(dropout_factor(link, h));
  }

  // Returns the caller's listed edges into a target.
  std::vector<int64_t> edges_of(int64_t i) const {
    std::vector<int64_t> edges;
    for (const Link& link : links_)
      if (link.target == i && link.row < p_.graph.edges()) edges.push_back(link.row);
    return edges;
  }

  double dropout_factor(const Link& link, int64_t h) const {
    if (p_.dropout == 0) return 1;
    const AttentionDropout keys = p_.keys();
    const bool loop = link.row >= p_.graph.edges();
    const int64_t number = loop ? keys.local[link.target] : link.row - keys.first_edge[link.target];
    const auto quad = static_cast<uint32_t>(number * ((p_.heads + 3) / 4) + h / 4);
    const Philox::Counter bits = Philox(keys.seed)(
        philox_counter(loop ? Purpose::loop_dropout : Purpose::attention_dropout, keys.layer, keys.epoch,
                       static_cast<uint32_t>(keys.item[link.target]), quad));
    return bits[at(h % 4)] < p_.dropout * 0x1p32 ? 0 : 1 / (1 - p_.dropout);
  }

  double leaky(double y) const { return y > 0 ? y : p_.slope * y; }
  double leaky_derivative(double y) const { return y > 0 ? 1 : p_.slope; }

  double static_logit(const Link& link, int64_t h) const {
    double sum = in_.at("s")[at(link.source * p_.heads + h)] + in_.at("t")[at(link.target * p_.heads + h)];
    for (int64_t k = 0; k < p_.features; ++k) sum += link.features[at(k)] * in_.at("q")[at(k * p_.heads + h)];
    return sum;
  }
  double y(const Link& link, int64_t c) const {
    double sum =
        in_.at("z")[at(link.source * p_.width() + c)] + in_.at("z_target")[at(link.target * p_.width() + c)];
    for (int64_t k = 0; k < p_.features; ++k)
      sum += link.features[at(k)] * in_.at("edge_weight")[at(k * p_.width() + c)];
    return sum;
  }

  double score(const Link& link, int64_t h) const {
    if (!dynamic_) return leaky(static_logit(link, h));
    double sum = 0;
    for (int64_t c = h * p_.channels; c < (h + 1) * p_.channels; ++c)
      sum += in_.at("att")[at(c)] * leaky(y(link, c));
    return sum;
  }

  void forward() {
    std::vector<double>& out = values_["out"];
    std::vector<double>& alpha = values_["alpha"];
    out.assign(at(p_.graph.targets * p_.width()), 0);
    alpha.assign(at(p_.alpha_rows() * p_.heads), 0);
    std::vector<double> sum(at(p_.graph.targets * p_.heads), 0);
    std::vector<double> highest(sum.size(), -std::numeric_limits<double>::infinity());
    const auto row = [&](const Link& link, int64_t h) { return at(link.target * p_.heads + h); };
    for (Link& link : links_)
      for (int64_t h = 0; h < p_.heads; ++h) {
        link.score.push_back(score(link, h));
        highest[row(link, h)] = std::max(highest[row(link, h)], link.score.back());
      }
    for (Link& link : links_)
      for (int64_t h = 0; h < p_.heads; ++h)
        sum[row(link, h)] += std::exp(link.score[at(h)] - highest[row(link, h)]);
    for (Link& link : links_)
      for (int64_t h = 0; h < p_.heads; ++h) {
        link.alpha.push_back(std::exp(link.score[at(h)] - highest[row(link, h)]) / sum[row(link, h)]);
        alpha[at(link.row * p_.heads + h)] = link.weight(h);
      }
    for (const Link& link : links_)
      for (int64_t c = 0; c < p_.width(); ++c)
        out[at(link.target * p_.width() + c)] +=
            link.weight(c / p_.channels) * in_.at("z")[at(link.source * p_.width() + c)];
    if (p_.bias)
      for (size_t n = 0; n < out.size(); ++n) out[n] += in_.at("bias")[n % at(p_.width())];
  }

  // The gradient of alpha without the dropout factor.
  double alpha_gradient(const Link& link, int64_t h) const {
    double sum = p_.alpha_gradient ? in_.at("grad_alpha")[at(link.row * p_.heads + h)] : 0;
    for (int64_t c = h * p_.channels; c < (h + 1) * p_.channels; ++c)
      sum += grad_out(link.target, c) * in_.at("z")[at(link.source * p_.width() + c)];
    return link.factor[at(h)] * sum;
  }

  void score_gradient(const Link& link, int64_t h, double d, Arrays& to) const {
    const int64_t heads = p_.heads;
    if (!dynamic_) {
      const double dl = d * leaky_derivative(static_logit(link, h));
      to["s"][at(link.source * heads + h)] += dl;
      to["t"][at(link.target * heads + h)] += dl;
      for (int64_t k = 0; k < p_.features; ++k) {
        to["q"][at(k * heads + h)] += dl * link.features[at(k)];
        feature_gradient(link, k, dl * in_.at("q")[at(k * heads + h)], to);
      }
      return;
    }
    for (int64_t c = h * p_.channels; c < (h + 1) * p_.channels; ++c) {
      const double value = y(link, c);
      const double dy = d * in_.at("att")[at(c)] * leaky_derivative(value);
      to["att"][at(c)] += d * leaky(value);
      to["z"][at(link.source * p_.width() + c)] += dy;
      to["z_target"][at(link.target * p_.width() + c)] += dy;
      for (int64_t k = 0; k < p_.features; ++k) {
        to["edge_weight"][at(k * p_.width() + c)] += dy * link.features[at(k)];
        feature_gradient(link, k, dy * in_.at("edge_weight")[at(k * p_.width() + c)], to);
      }
    }
  }

  // A self-loop that is filled with the mean passes its gradient on to the edges.
  void feature_gradient(const Link& link, int64_t k, double df, Arrays& to) const {
    std::vector<double>& edge_attr = to["edge_attr"];
    if (link.row < p_.graph.edges()) {
      edge_attr[at(link.row * p_.features + k)] += df;
    } else if (p_.fill == LoopFill::mean) {
      const std::vector<int64_t> edges = edges_of(link.target);
      for (const int64_t e : edges)
        edge_attr[at(e * p_.features + k)] += df / static_cast<double>(edges.size());
    }
  }

  const AttentionProblem& p_;
  const Arrays& in_;
  bool dynamic_;
  std::vector<Link> links_;
  Arrays values_;
};

/// Expects the gradients of the reference to match the change of its loss when inputs change.
inline void expect_gradients_of_the_loss(AttentionProblem problem, bool dynamic) {
  constexpr double kStep = 1e-6;
  const Arrays gradients = AttentionReference(problem, dynamic).gradients();
  for (const auto& [name, numbers] : gradients) {
    if (name.starts_with("grad_")) continue;
    for (size_t n = 0; n < numbers.size(); ++n) {
      double& input = problem.inputs[name][n];
      const double before = input;
      input = before + kStep;
      const double above = AttentionReference(problem, dynamic).loss();
      input = before - kStep;
      const double below = AttentionReference(problem, dynamic).loss();
      input = before;
      EXPECT_NEAR(numbers[n], (above - below) / (2 * kStep), 1e-6) << name << " " << n;
    }
  }
}

/// Numbers in an array that is aligned only to its type.
template <typename T>
class Numbers {
 public:
  Numbers(int64_t size, T value) : numbers_(static_cast<size_t>(size) + 1, value) {}
  explicit Numbers(const std::vector<double>& from) : numbers_(1) {
    for (const double number : from) numbers_.push_back(static_cast<T>(number));
  }
  T* data() { return numbers_.size() > 1 ? numbers_.data() + 1 : nullptr; }
  std::vector<double> values() const { return {numbers_.begin() + 1, numbers_.end()}; }

 private:
  std::vector<T> numbers_;
};

/// Calls call(begin, end) for ranges of `step` nodes.
template <typename Call>
void in_ranges(int64_t nodes, int64_t step, Call call) {
  for (int64_t begin = 0; begin < nodes; begin += step) call(begin, std::min(begin + step, nodes));
}

/// The arrays of both kinds of attention, for a run on `problem`. Arrays that kernels are to write hold NaN
/// before.
template <typename T>
struct AttentionArrays {
  static constexpr T kNone = std::numeric_limits<T>::quiet_NaN();
  static constexpr int64_t kStep = 7;  // Nodes in a range if pieces are not closed.

  const AttentionProblem& problem;
  bool closed;
  std::vector<int32_t> order_numbers = make_order();
  EdgeOrder order = view_edge_order(order_numbers.data(), static_cast<int64_t>(order_numbers.size()),
                                    problem.graph.sources, problem.graph.targets, problem.graph.edges());
  std::vector<int32_t> transposed;
  Numbers<T> z = input("z");
  Numbers<T> edge_attr = input("edge_attr");
  Numbers<T> bias = input("bias");
  Numbers<T> grad_out = input("grad_out");
  Numbers<T> grad_alpha = input("grad_alpha");
  Numbers<T> highest{problem.graph.targets * problem.heads, kNone};
  Numbers<T> scale{problem.graph.targets * problem.heads, kNone};
  Numbers<T> out{problem.graph.targets * problem.width(), kNone};
  Numbers<T> alpha{problem.alpha_rows() * problem.heads, 0};
  Numbers<T> dz{problem.graph.sources * problem.width(), 0};
  Numbers<T> dedge_attr{problem.graph.edges() * problem.features, 0};
  Numbers<T> dbias{problem.bias ? problem.width() : 0, 0};
  Numbers<T> handoff{(order.edges + problem.graph.targets) * 2 * problem.heads, kNone};

  AttentionArrays(const AttentionProblem& the_problem, bool in_closed_pieces)
      : problem(the_problem), closed(in_closed_pieces) {
    EXPECT_EQ(order.closed, closed);
  }

  Numbers<T> input(const char* name) const { return Numbers<T>(problem.inputs.at(name)); }

  void fill(Attention<T>& layer) {
    layer.order = order;
    layer.caller_edges = problem.graph.edges();
    layer.heads = problem.heads;
    layer.channels = problem.channels;
    layer.edge_features = problem.features;
    layer.slope = static_cast<T>(problem.slope);
    layer.loops = problem.loops;
    layer.fill = problem.fill;
    layer.fill_value = static_cast<T>(problem.fill_value);
    layer.dropout = problem.keys();
    layer.z = z.data();
    layer.edge_attr = edge_attr.data();
    layer.bias = bias.data();
    layer.highest = highest.data();
    layer.scale = scale.data();
    layer.out = out.data();
    layer.alpha = alpha.data();
  }

  void fill(AttentionGradients<T>& gradients) {
    gradients.out = grad_out.data();
    gradients.alpha = grad_alpha.data();
    gradients.z = dz.data();
    gradients.edge_attr = problem.edge_attr_gradient ? dedge_attr.data() : nullptr;
    gradients.bias = dbias.data();
    gradients.handoff = closed ? nullptr : handoff.data();
  }

  template <typename Call>
  void in_pieces(Call call) const {
    if (!closed) return in_ranges(problem.graph.targets, kStep, call);
    for (int64_t p = 0; p < order.pieces; ++p) call(order.piece_ptr[p], order.piece_ptr[p + 1]);
  }

  OutEdges out_edges() {
    transposed.resize(static_cast<size_t>(order.sources + 1 + 2 * order.edges));
    int32_t* const position = transposed.data() + order.sources + 1;
    transpose_edge_order(order, transposed.data(), position, position + order.edges);
    return {transposed.data(), position, position + order.edges};
  }

  Arrays results() const {
    Arrays all = {
        {"out", out.values()}, {"alpha", alpha.values()}, {"z", dz.values()}, {"bias", dbias.values()}};
    if (problem.edge_attr_gradient) all.insert({"edge_attr", dedge_attr.values()});
    return all;
  }

 private:
  std::vector<int32_t> make_order() const {
    const TestGraph& graph = problem.graph;
    std::vector<int32_t> numbers(static_cast<size_t>(edge_order_size(graph.targets, graph.edges())));
    make_edge_order(graph.source.data(), graph.target.data(), graph.edges(), graph.sources, graph.targets,
                    closed, problem.loops && graph.same_nodes, numbers.data());
    return numbers;
  }
};

/// Expects |found - expected| <= tolerance * |expected| for each array of results in T. Numbers below 0.1
/// count as 0.1.
template <typename T>
void expect_close(const Arrays& found, const Arrays& expected) {
  for (const auto& [name, numbers] : found) {
    const std::vector<double>& expected_numbers = expected.at(name);
    ASSERT_EQ(numbers.size(), expected_numbers.size()) << name;
    double error = 0;
    double size = 0;
    for (size_t n = 0; n < expected_numbers.size(); ++n) {
      error += (numbers[n] - expected_numbers[n]) * (numbers[n] - expected_numbers[n]);
      size += expected_numbers[n] * expected_numbers[n];
    }
    const double tolerance = sizeof(T) == sizeof(double)        ? 1e-13
                             : name == "out" || name == "alpha" ? 1e-6
                                                                : 1e-5;
    const double min = 0.1 * std::sqrt(static_cast<double>(expected_numbers.size()));
    EXPECT_LE(std::sqrt(error), tolerance * std::max(std::sqrt(size), min)) << name;
  }
}

/// Kernels of one level. The suite is skipped if the processor lacks it.
class AtLevel : public testing::TestWithParam<Level> {
 protected:
  void SetUp() override {
    if (GetParam() > best_level())
      GTEST_SKIP() << "this processor supports at most " << name_of(best_level());
  }
};

/// The description of the problem on which a test fails.
inline testing::Message description_of(const AttentionProblem& problem) {
  return testing::Message() << problem.heads << " heads of " << problem.channels << " channels, "
                            << problem.features << " edge features, " << problem.graph.edges()
                            << " edges, loops " << problem.loops << ", fill "
                            << static_cast<int>(problem.fill) << ", dropout " << problem.dropout;
}

/// Values and gradients of the reference. With shared weights z has both gradients. `dynamic` selects GATv2.
inline Arrays expected_of(const AttentionProblem& problem, bool dynamic) {
  const AttentionReference reference(problem, dynamic);
  Arrays expected = reference.gradients();
  expected.insert(reference.values().begin(), reference.values().end());
  if (dynamic && problem.shared_weights)
    for (size_t n = 0; n < expected["z"].size(); ++n) expected["z"][n] += expected["z_target"][n];
  return expected;
}

/// Compares both precisions with the reference, in closed pieces if nodes allow it, and through the handoff.
/// run(T(), problem, closed) returns values and gradients.
template <typename Run>
void compare_with_reference(AttentionProblem problem, bool dynamic, Run run) {
  SCOPED_TRACE(description_of(problem));
  problem.draw_inputs();
  const Arrays expected = expected_of(problem, dynamic);
  for (const bool closed : {true, false}) {
    if (closed && !problem.graph.same_nodes) continue;
    SCOPED_TRACE(closed ? "closed pieces" : "handoff");
    expect_close<double>(run(0.0, problem, closed), expected);
    expect_close<float>(run(0.0F, problem, closed), expected);
  }
}

}  // namespace plimsoll
