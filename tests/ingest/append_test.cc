#include "ingest/append/append.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/philox.h"
#include "ingest/append/inserted_nodes.h"
#include "io/file.h"
#include "io/npy.h"
#include "support/errors.h"
#include "support/fault_trials.h"
#include "support/ledger_cap.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// tests/python/test_graph_append.py compares results with one ingest of all files. These tests need
// internals: faults, memory and interrupts.
class GraphAppend : public testing::Test {
 protected:
  GraphIngestOptions options(const std::string& name, const std::string& text) const {
    write_bytes(folder_ / (name + ".txt"), text);
    GraphIngestOptions result;
    result.edges.files = {folder_ / (name + ".txt")};
    result.out = folder_ / name;
    return result;
  }
  GraphIngestOptions appended(const std::string& name, const std::string& text) const {
    GraphIngestOptions given = options(name, text);
    given.append = folder_ / "base";
    return append_options(given, [](std::string_view) { return false; });
  }
  static void run(const GraphIngestOptions& options, FileSystem& files = FileSystem::disk()) {
    ingest_graph(
        options, [](const char*, int64_t, int64_t) {}, files);
  }
  static std::string edges(uint32_t seed, uint32_t count) {
    std::string text;
    for (uint32_t e = 0; e < count; ++e) {
      const auto draw = Philox(seed)({e, 0, 0, 0});
      text +=
          fmt::format("{} {}\n", uint64_t{draw[0] % 3000} * 1'000'003, uint64_t{draw[1] % 3000} * 1'000'003);
    }
    return text;
  }
  std::map<std::string, std::string> content(const std::string& name) const {
    std::map<std::string, std::string> all;
    for (const auto& file : std::filesystem::directory_iterator(folder_ / name))
      if (file.path().extension() == ".npy") all[file.path().filename()] = read_text(file.path());
    return all;
  }
  TempFolder folder_;
};

TEST_F(GraphAppend, IsTheOldOneOrTheNewWhateverFails) {
  GraphIngestOptions base = options("base", edges(1, 3000));
  base.ids = NodeIds::sparse;
  run(base);
  const auto append = [&](const std::string& name, uint32_t seed) {
    GraphIngestOptions more = appended(name, edges(seed, 300));
    more.out = "/place/graph";
    more.force = true;
    return [more](FileSystem& files) { run(more, files); };
  };
  const auto before = content("base");
  FaultTrials("/place/graph", append("one", 2), append("two", 3)).run();
  EXPECT_EQ(content("base"), before);
}

TEST_F(GraphAppend, MemoryChangesNoByteAndIsNotExceeded) {
  GraphIngestOptions base = options("base", edges(1, 200'000));
  base.ids = NodeIds::sparse;
  base.undirected = true;
  run(base);
  const std::string text = edges(2, 100'000);
  run(appended("free", text));
  {
    const LedgerCap cap(10 << 20);
    run(appended("capped", text));
  }
  EXPECT_EQ(content("capped"), content("free"));
  const LedgerCap cap(1 << 20);
  EXPECT_THAT(error_text<BudgetExceeded>([&] { run(appended("none", text)); }),
              HasSubstr("raise the budget"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "none"));
}

TEST_F(GraphAppend, CanBeInterruptedAtEveryReport) {
  GraphIngestOptions base = options("base", edges(1, 3000));
  base.ids = NodeIds::sparse;
  run(base);
  const GraphIngestOptions more = appended("more", edges(2, 300));
  int64_t reports = 0;
  ingest_graph(more, [&](const char*, int64_t, int64_t) { ++reports; });
  std::filesystem::remove_all(more.out);
  for (int64_t stop = 0; stop < reports; ++stop) {
    int64_t at = 0;
    EXPECT_THROW(ingest_graph(more,
                              [&](const char*, int64_t, int64_t) {
                                if (at++ == stop) throw Interrupted("stop");
                              }),
                 Interrupted);
    EXPECT_FALSE(std::filesystem::exists(more.out));
  }
  EXPECT_GT(reports, 5);
}

TEST_F(GraphAppend, LeadingZerosAreRefusedWhereverAnIdIs) {
  GraphIngestOptions base = options("base", "5 7\n7 5\n");
  write_bytes(folder_ / "nodes.csv", "id\n5\n7\n");
  base.nodes.table = folder_ / "nodes.csv";
  run(base);
  write_bytes(folder_ / "zeros.csv", "id\n007\n");
  GraphIngestOptions row = options("more", "5 7\n");
  row.append = folder_ / "base";
  row.nodes.table = folder_ / "zeros.csv";
  write_bytes(folder_ / "zeros.txt", "007\n");
  GraphIngestOptions split = appended("more", "5 7\n");
  split.splits[0] = folder_ / "zeros.txt";
  const GraphIngestOptions edge = appended("edge", "5 007\n");
  for (const auto& [given, place] :
       {std::pair(append_options(row, [](std::string_view) { return false; }), "zeros.csv:2"),
        std::pair(split, "zeros.txt:1"), std::pair(edge, "edge.txt:1:3")})
    EXPECT_THAT(error_text<InputError>([&] { run(given); }),
                AllOf(HasSubstr(std::string(place) + ": found the ID '007'"), HasSubstr("--ids text")));
}

TEST_F(GraphAppend, ManyClassesNeedNoMemory) {
  GraphIngestOptions base = options("base", "0 1\n");
  NpyWriter labels(folder_ / "y.npy", "<i8", {});
  labels.append(std::span<const int64_t>(std::array<int64_t, 2>{0, 4'000'000'000}));
  labels.finish();
  base.nodes.label_array = folder_ / "y.npy";
  run(base);
  GraphIngestOptions more = appended("more", "1 0\n");
  const LedgerCap cap(16 << 20);
  run(more);
  EXPECT_EQ(GraphView(folder_ / "more").tables().classes, 4'000'000'001);
}

TEST_F(GraphAppend, ABaseMayHaveWideIndices) {
  run(options("base", "0 1\n2 1\n1 0\n"));
  run(appended("narrow", "3 1\n"));
  {
    const GraphView view(folder_ / "base");
    GraphWriter wide(folder_ / "wide", false);
    wide.append_row_ends(view.indptr().subspan(1));
    const std::vector<int64_t> indices(view.indices().begin(), view.indices().end());
    wide.append_indices(std::span(indices));
    wide.publish(view.tables(), view.set().manifest().at("provenance"));
  }
  std::filesystem::remove_all(folder_ / "base");
  std::filesystem::rename(folder_ / "wide", folder_ / "base");
  run(appended("more", "3 1\n"));
  EXPECT_EQ(content("more"), content("narrow"));
}

TEST_F(GraphAppend, ABaseThatIsReplacedMeanwhileIsRefused) {
  run(options("base", "0 1\n1 2\n"));
  const GraphIngestOptions more = appended("more", "2 0\n");
  GraphIngestOptions other = options("base", "0 2\n2 1\n");
  other.force = true;
  bool replaced = false;
  const auto append = [&] {
    ingest_graph(more, [&](const char* what, int64_t, int64_t) {
      if (std::string_view(what) == "edges" && !std::exchange(replaced, true)) run(other);
    });
  };
  EXPECT_THAT(error_text<InputError>(append),
              AllOf(HasSubstr("the graph was replaced"), HasSubstr("append again")));
  EXPECT_TRUE(replaced);
  EXPECT_FALSE(std::filesystem::exists(more.out));
}

TEST_F(GraphAppend, DamagedIdsOfTheBaseAreFound) {
  for (const auto& [kind, text, columns] :
       {std::tuple(NodeIds::sparse, "5 7\n7 9\n", std::vector<std::string>{"node_id"}),
        std::tuple(NodeIds::text, "a b\nb c\n", std::vector<std::string>{"node_name", "node_name_ptr"})})
    for (const std::string& column : columns) {
      GraphIngestOptions base = options("base", text);
      base.ids = kind;
      base.force = true;
      run(base);
      const GraphIngestOptions more = appended("more", text);
      const auto path = folder_ / "base" / (column + ".npy");
      std::string bytes = read_text(path);
      // The last ID stays the greatest, and the last name ends where it did.
      bytes[bytes.size() - (column == "node_name_ptr" ? 16 : column == "node_id" ? 8 : 1)] ^= 2;
      write_bytes(path, bytes);
      EXPECT_THAT(error_text<InputError>([&] { run(more); }), HasSubstr(fmt::format("column '{}'", column)));
      EXPECT_FALSE(std::filesystem::exists(more.out));
    }
}

TEST_F(GraphAppend, TheSizeOfAMatrixIsCompared) {
  const std::string banner = "%%MatrixMarket matrix coordinate pattern general\n";
  run(options("base", "0 1\n1 2\n"));
  EXPECT_THAT(error_text<InputError>([&] { run(appended("more", banner + "3 3 2\n1 2\n")); }),
              HasSubstr("ends after 1 entries, expected 2"));
  EXPECT_THAT(error_text<InputError>([&] { run(appended("more", banner + "400000000 400000000 1\n1 2\n")); }),
              HasSubstr("confirm it with --node-count 400000000"));
  run(appended("more", banner + "5 5 1\n1 2\n"));
  EXPECT_EQ(GraphView(folder_ / "more").nodes(), 5);

  GraphIngestOptions rows = options("base", "0 1\n1 2\n");
  NpyWriter labels(folder_ / "y.npy", "<i8", {});
  labels.append(std::span<const int64_t>(std::array<int64_t, 3>{0, 1, 0}));
  labels.finish();
  rows.nodes.label_array = folder_ / "y.npy";
  rows.force = true;
  run(rows);
  EXPECT_THAT(error_text<InputError>([&] { run(appended("rows", banner + "5 5 1\n1 2\n")); }),
              HasSubstr("makes 5 nodes, expected at most the 3"));
}

TEST(InsertedNodesTest, NumbersFollowTheOrderOfAllNodes) {
  constexpr int64_t kOld = 1000;
  InsertedNodes nodes(kOld);
  std::vector<bool> is_new;
  int64_t old = 0;
  for (uint32_t i = 0; old < kOld || i < 2000; ++i) {
    const bool added = old == kOld || Philox(4)({i, 0, 0, 0})[0] % 3 == 0;
    is_new.push_back(added);
    if (added)
      nodes.add(old);
    else
      ++old;
  }
  nodes.seal();
  ASSERT_EQ(nodes.nodes(), std::ssize(is_new));
  int64_t found_old = 0;
  int64_t found_new = 0;
  for (size_t node = 0; node < is_new.size(); ++node) {
    const int64_t now = is_new[node] ? nodes.new_of_inserted(found_new++) : nodes.new_of_old(found_old++);
    EXPECT_EQ(now, static_cast<int64_t>(node));
  }
  std::vector<bool> runs;
  nodes.for_each_run(7, [&](bool added, int64_t, int64_t count) {
    EXPECT_LE(count, 7);
    runs.insert(runs.end(), static_cast<size_t>(count), added);
  });
  EXPECT_EQ(runs, is_new);
}

}  // namespace
}  // namespace plimsoll
